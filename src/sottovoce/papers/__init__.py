"""Published tables and figures, computed again; published but wrong variants, registered nowhere."""
