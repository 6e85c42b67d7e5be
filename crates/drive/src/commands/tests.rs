//! Drives that vanish, refuse, lie or answer nonsense.
