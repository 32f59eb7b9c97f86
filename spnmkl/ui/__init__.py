"""The app. `state` is what a tab works on, `parts` are widgets of several pages, `pages` has one function a page."""
