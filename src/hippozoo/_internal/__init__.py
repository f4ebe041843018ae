"""Helpers of the package itself; nothing here is part of the public interface."""
