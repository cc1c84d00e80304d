"""The command lines of the three Java programs of a sandbox: the broker, its format step, ZooKeeper. Pure."""

from collections.abc import Sequence

from kcli.core.classes import dataclass

# Kafka's download carries such files, its jars do not: nodes write their log to standard output, which the starter
# redirects to a file. log4j 2 reads one form, reload4j (log4j 1) the other.
LOG4J2_NAME = "log4j2.properties"
LOG4J1_NAME = "log4j.properties"

LOG4J2 = """\
status = error
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = OUT
"""

LOG4J1 = """\
log4j.rootLogger=INFO, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=[%d] %p %m (%c)%n
"""

_SHORT_RUN = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx128m")
"""For a program that lives a second: it is over before the better compiler would pay (0.9 s instead
of 1.6 s).
"""


@dataclass(frozen=True, slots=True)
class Jvm:
    """What all programs of one sandbox share. ``logging`` is the folder of the log4j files."""

    java: str
    jars: tuple[str, ...]
    logging: str
    heap_mb: int
    options: tuple[str, ...] = ()

    def broker(self, properties: str) -> list[str]:
        # Without the exit a broker out of memory stays half alive: it responds, and nothing works.
        memory = ("-Xms128m", f"-Xmx{self.heap_mb}m", "-XX:+ExitOnOutOfMemoryError")
        # For a heap this small: 65 MB less resident than G1, and ready half a second earlier.
        collector = () if any("GC" in option for option in self.options) else ("-XX:+UseSerialGC",)
        return self._command((*memory, *collector, *self.options), "kafka.Kafka", properties)

    def format(self, cluster_id: str, properties: str, further: Sequence[str] = ()) -> list[str]:
        arguments = ("format", f"--cluster-id={cluster_id}", "-c", properties, *further)
        return self._command(_SHORT_RUN, "kafka.tools.StorageTool", *arguments)

    def zookeeper(self, properties: str) -> list[str]:
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        return self._command(("-Xmx128m", "-XX:+UseSerialGC"), main, properties)

    def _command(self, options: Sequence[str], main: str, *arguments: str) -> list[str]:
        classpath = ":".join(self.jars)
        # Native libraries are unpacked there; a broker that is killed would leave them in /tmp.
        scratch = f"-Djava.io.tmpdir={self.logging}"
        return [self.java, *options, scratch, *_flags(self.logging), "-cp", classpath, main, *arguments]


def argument_file(arguments: Sequence[str]) -> str:
    """``arguments`` as a file for ``java @FILE``, which no other user of the machine sees in the list of processes."""
    quoted = (argument.replace("\\", "\\\\").replace('"', '\\"') for argument in arguments)
    return "".join(f'"{argument}"\n' for argument in quoted)


def _flags(folder: str) -> list[str]:
    """The options that point a JVM at the files of that name in ``folder``; each log4j reads its own one."""
    return [
        f"-Dlog4j2.configurationFile={folder}/{LOG4J2_NAME}",
        f"-Dlog4j.configuration=file:{folder}/{LOG4J1_NAME}",
        "-Djava.awt.headless=true",
    ]
