"""What a training means: sentences, tables, kernels as pictures, the report as a page."""
