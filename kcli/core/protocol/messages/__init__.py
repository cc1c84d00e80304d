"""One small file per API: a field table with version ranges. Imported only when its API is used."""

from kcli.core.extras import modules_on_use

__getattr__ = modules_on_use(__name__)
