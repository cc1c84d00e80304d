"""Record batches: parsing, building, slices, isolation. No socket, no thread."""

from kcli.core.extras import modules_on_use

__getattr__ = modules_on_use(__name__)
