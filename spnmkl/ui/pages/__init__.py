"""One function a page; a page imports no other."""
