"""The one error of checkpoints, so that a caller can catch it."""

__all__ = ["CheckpointError"]


class CheckpointError(ValueError):
    """A thing cannot be saved, or a file is not the checkpoint it should be.

    Examples
    --------
    >>> from hippozoo.checkpoint import CheckpointError, load
    >>> try:
    ...     load("no/such/file.safetensors")
    ... except CheckpointError as error:
    ...     print(error)
    no/such/file.safetensors: there is no such file; check the path.
    """
