"""Which labels to ask people for next, and what to expect of them."""
