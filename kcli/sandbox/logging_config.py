"""What makes a node write its log to standard output, which the starter sends to a file: pure text.

Kafka's download carries such files, its jars do not. log4j 2 reads one form, reload4j (log4j 1) the
other.
"""

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


def jvm_flags(folder: str) -> list[str]:
    """The options that point a JVM at the files of that name in ``folder``; each log4j reads its own one."""
    return [
        f"-Dlog4j2.configurationFile={folder}/{LOG4J2_NAME}",
        f"-Dlog4j.configuration=file:{folder}/{LOG4J1_NAME}",
        "-Djava.awt.headless=true",
    ]
