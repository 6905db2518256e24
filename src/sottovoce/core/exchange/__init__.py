"""What leaves and reaches a device: reports as bytes, batches, manifests."""
