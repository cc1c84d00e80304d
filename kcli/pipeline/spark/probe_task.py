"""What the probe runs on an executor. It is pickled by value and imports nothing of kcli at first, so that it can report
that kcli is missing there.
"""


def probe_task(_partition: object) -> "list[dict[str, object]]":
    """Facts about the Python process that runs it."""
    # Pickled by value, it has no module around it.
    import importlib, os, platform, re, socket, sys, sysconfig, time  # noqa: E401, I001

    found: dict[str, object] = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "executable": sys.executable,
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "python_version": platform.python_version(),
        "platform": re.sub(r"[^a-z0-9]+", "_", sysconfig.get_platform().lower()),
        "errors": {},
    }
    errors: dict[str, str] = {}
    for name, module in (
        ("kcli", "kcli"),
        ("kernels", "kcli.core.kernels.active"),
        ("job", "kcli.pipeline.job"),
        ("pyspark", "pyspark"),
        ("pyarrow", "pyarrow"),
    ):
        try:
            loaded = importlib.import_module(module)
            found[name] = getattr(loaded, "__version__", getattr(loaded, "IMPLEMENTATION", ""))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the probe is for
            errors[name] = f"{type(error).__name__}: {error}"
    if found.get("kernels") == "pure":
        try:
            importlib.import_module("kcli.core.kernels._native")
        except Exception as error:  # noqa: BLE001
            errors["native"] = f"{type(error).__name__}: {error}"
    found["errors"] = errors
    time.sleep(0.2)  # so that one executor does not run all probes
    return [found]
