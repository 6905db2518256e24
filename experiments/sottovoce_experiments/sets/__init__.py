"""Sets of items: variances of designs, and coverage on market baskets."""
