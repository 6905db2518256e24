"""Pictures of the pages by kind of reader, for `make screenshots`."""
