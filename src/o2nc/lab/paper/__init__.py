"""The paper's numerical section: the published numbers, the methods, and a reproduction that is compared with them."""
