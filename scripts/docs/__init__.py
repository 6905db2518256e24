"""The documentation site and its generated pages: `make docs` builds the site into build/site."""
