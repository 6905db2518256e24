"""Decoders by name: one file each (see `estimate.decoder`)."""
