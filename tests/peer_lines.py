"""The commands and common flags of other tools, as their own help and documentation list them. Not a test.

A row is a command as it follows the tool's name, a colon, and its flags; a flag that has a value has ``=`` and one. Read
from: kcat 1.7 (``kcat -h``), kcl (main of May 2026), rpk (topic, group, cluster, security, profile), kafkactl 5.20, kaf
0.2.14, and the scripts of Apache Kafka 4.
"""

KCAT = """
-C -t orders: -b=h:1 -p=0 -o=beginning -o=end -o=-5 -o=100 -o=s@1732180000000 -o=stored -e -c=5 -f=%s -J -u -q -v -E -Z
 -K=: -D=; -X=fetch.min.bytes=1 -F=f -s=value=avro -r=http://r -O -d=all -m=5
-G billing orders: -b=h:1 -e -c=5 -f=%s -J -X=auto.offset.reset=latest
-P -t orders: -b=h:1 -p=1 -k=k1 -K=: -D=; -H=a=1 -z=gzip -Z -l -T -c=5 -X=acks=1 -q -v -E
-L: -b=h:1 -t=orders -J -m=5 -X=client.id=x
-Q -t orders:0:-1: -b=h:1 -J
"""

KCL = """
consume orders: -t=x --topic=x -g=g --group=g --share-group=g --share-ack-type=accept --balancer=range -i=id
 --instance-id=id
 -p=0 --partitions=0 -o=start -o=end --offset=start+5 --offset=end-5 --offset=start+1:end-1 --offset=@-1h -n=5 --num=5
 --num-per-partition=2 -f=%v -r --regex --fetch-max-bytes=1 --fetch-max-wait=1s --fetch-max-partition-bytes=1 --rack=a
 --read-uncommitted --print-control-records --timeout=5s -G=v:x --grep=v:x --proto-file=f --proto-message=M
produce orders: -t=x -f=%v -o=%p -z=snappy --compression=snappy --acks=1 --retries=3 -Z --tombstone -p=1 --partition=1
 --delivery-timeout=5s --max-message-bytes=1 --allow-auto-topic-creation -H=a=1 --header=a=1
metadata: --section=x --ids -i --internal -d --detailed
topic list: -d --detailed -i --internal --regex=x
topic describe orders: --section=x --stable --with-overrides --under-replicated --unavailable --under-min-isr --at-min-isr
 --topic-id=x
topic create orders: -d --dry-run -p=3 --num-partitions=3 -r=1 --replication-factor=1 -k=a=b --kv=a=b
 --replica-assignment=x
topic delete orders: --ids --dry-run --regex
topic add-partitions orders: -t=orders --force
topic trim-prefix orders: --offset=10 --partitions=0 -y --from-file=f
group list: -f=x --filter=x --type-filter=x
group describe g: --committed --consumer-protocol --section=x --regex
group delete g: --dry-run --regex
group seek g: --to=start --to-group=h --to-file=f --topics=orders --dry-run -y --allow-new-topics
group offset-delete g: -t=orders --from-file=f
share-group list: -f=x
share-group describe g: --section=x
share-group seek g: --to=start
share-group delete g:
share-group offset-delete g orders:
config describe orders: -t=topic --type=topic --with-docs --with-types
config alter orders: -t=topic -s=a=b --set=a=b --delete=a --append=a=b --subtract=a=b --dry-run -y -i -k=a=b
acl list: --type=x --name=x --pattern=literal --principal=User:a --host=h --op=read --operation=read
 --perm=allow -t=orders
 --topic=orders -g=g --cluster --transactional-id=x --delegation-token=x
acl create: --allow-principal=User:a --deny-principal=User:a --allow-host=h --deny-host=h --topic=orders --group=g
 --operation=read --pattern=literal --dry-run --delegation-token=x
acl delete: --type=x --name=x --principal=User:a --op=read --perm=allow -y
quota describe: --name=user=a --default=user --any=user --strict
quota alter: --name=user=a --default=user --add=a=1 --delete=a --dry-run
user describe: --user=a
user alter: --set=a --del=a
txn list: --state=x --producer-id=1
txn describe id:
txn describe-producers orders:
logdirs describe: -b=1 --broker=1 -H --sort-by-size --aggregate-into=x
logdirs alter: -b=1
reassign list:
reassign alter:
features describe:
features update: --upgrade-type=x
cluster add-controller:
cluster remove-controller:
client-metrics list:
dtoken create: --renewer=x
admin elect-leaders: --all-partitions --unclean --dry-run
elect-leaders: --all-partitions --unclean --dry-run
cluster elect-leaders:
cluster describe-quorum:
cluster describe-cluster: --section=x
profile list:
profile use a:
profile create a:
profile current:
profile rename a b:
profile delete a:
profile dump:
misc api-versions: -v=1
misc list-offsets: --committed
misc probe-version:
misc errcode 3:
misc errtext:
misc raw-req: -k=1
misc offset-for-leader-epoch:
misc gen-autocomplete: -k=bash
fake: --ports=9092
myconfig use a:
"""

RPK = """
topic list: -d --detailed -i --internal -r --regex --format=json
topic describe orders: -a --print-all -p --print-partitions -c --print-configs -s --print-summary --stable -r --regex
topic describe-storage orders: -a --human-readable
topic create orders: -p=3 --partitions=3 -r=1 --replicas=1 -c=a=b --topic-config=a=b -d --dry --if-not-exists
topic delete orders: -r --regex
topic add-partitions orders: -n=2 --num=2 -f --force
topic alter-config orders: -s=a=b --set=a=b --append=a=b -d=a --delete=a --subtract=a=b --dry
topic trim-prefix orders: -o=10 --offset=10 -p=0 --partitions=0 -f=x --from-file=x --no-confirm
topic consume orders: -o=start --offset=start -p=0 --partitions=0 -r --regex -g=g --group=g -b=range --balancer=range
 --fetch-max-bytes=1 --fetch-max-wait=1s --read-committed --print-control-records -f=%v --format=%v -n=5 --num=5
 --pretty-print=false --meta-only --rack=a --use-schema-registry
topic produce orders: -k=k --key=k -z=gzip --compression=gzip --acks=1 --delivery-timeout=5s -f=%v --format=%v -H=a:b
 --header=a:b -p=1 --partition=1 -Z --tombstone --allow-auto-topic-creation --schema-id=1 --schema-key-id=1
 --max-message-bytes=1 -o=%v --output-format=%v
topic analyze orders: -r --batches=1 --time-range=x
topic mount:
topic unmount:
group list: -f=x --states=x
group describe g: -c --print-commits -t --print-lag-per-topic -s --print-summary -i --instance-ID -r --regex
group delete g:
group seek g: --to=start --to-group=h --to-file=f --topics=orders --allow-new-topics
group offset-delete g: -t=orders --topic=orders -f=x --from-file=f
cluster info: -t --print-topics -b --print-brokers -c --print-cluster -d --detailed -i --internal
cluster metadata: -t -b
cluster health: -w --watch -e --exit-when-healthy
cluster logdirs describe: --topics=orders -b=1 --broker=1 -H --human-readable --sort-by-size --aggregate-into=x
cluster txn list:
cluster txn describe id:
cluster txn describe-producers: -t=orders --topics=orders -p=0
cluster quotas describe: --name=user=a --any=user --strict
cluster quotas alter: --name=user=a --add=a=1 --delete=a
cluster quotas import: --from=f
cluster partitions list: -a
cluster partitions move: -p=x
cluster partitions move-status:
cluster partitions move-cancel:
cluster partitions transfer-leadership:
cluster partitions balancer-status:
cluster config get a:
cluster config set a b:
cluster config edit:
cluster config status:
cluster maintenance enable 1:
cluster maintenance status:
cluster brokers decommission 1:
cluster storage mount:
cluster selftest start:
cluster license info:
cluster connections list:
security acl create: --allow-principal=User:a --deny-principal=User:a --operation=read --topic=orders --group=g --cluster
 --allow-host=h --resource-pattern-type=literal
security acl list: --allow-principal=User:a --topic=orders
security acl delete: --allow-principal=User:a --topic=orders --dry --no-confirm
security user create a: -p=x --password=x --mechanism=SCRAM-SHA-256
security user list:
security user delete a:
security user update a:
security role list:
acl list:
acl user create a:
profile use a:
profile list:
profile create a:
profile edit:
profile print:
profile delete a:
profile rename-to a:
profile current:
registry schema list:
connect run:
transform list:
redpanda start:
container start: -n=3
container stop:
cloud login:
debug bundle:
generate shell-completion bash:
version:
"""

KAFKACTL = """
get topics: -o=json -o=wide
get consumer-groups: -o=json -t=orders --topic=orders
get brokers: -o=json
get acl: -o=json --operation=read --pattern=literal --topic=orders --groups=g --cluster --allow --deny
get users: -o=json
describe topic orders: -o=json --print-configs --all-configs --skip-empty
describe consumer-group g: -o=json --only-with-lag --topic=orders --print-members
describe broker 1: -o=json --all-configs
describe user a:
create topic orders: -p=3 --partitions=3 -r=1 --replication-factor=1 -v --validate-only -c=a=b --config=a=b -f=x --file=x
create consumer-group g: -t=orders --topic=orders --oldest --newest --offset=5 -p=0
create acl: --topic=orders --operation=read --principal=User:a --host=h --allow --deny --group=g --cluster
 --pattern=literal
create user a: --mechanism=SCRAM-SHA-256 --password=x --iterations=4096 --salt=x
alter topic orders: -p=5 --partitions=5 -r=2 --replication-factor=2 -c=a=b --config=a=b -v --validate-only
alter partition orders 0: -r=1,2 --replicas=1,2 --validate-only
alter broker 1: -c=a=b --config=a=b --validate-only
alter user a: --password=x
delete topic orders:
delete consumer-group g:
delete offset g: -t=orders --topic=orders -p=0
delete consumer-group-offset g: -t=orders -p=0
delete records orders: --offset=0=100
delete acl: --topic=orders --operation=read --pattern=literal --allow
delete user a:
reset offset g: --topic=orders --oldest --newest --offset=5 --to-datetime=2026-11-21T10:00:00Z -p=0 --all-topics -e
 --execute
 -o=json
reset consumer-group-offset g: --topic=orders --oldest
clone topic a b:
clone consumer-group a b:
consume orders: --print-partitions -k --print-keys -t --print-timestamps --print-schema --print-headers --print-all
 --tail=5 --from-timestamp=2026-11-21T10:00:00Z --to-timestamp=2026-11-21T11:00:00Z --max-messages=5 -e --exit -p=0
 --partitions=0 -s=, --separator=, -g=g --group=g --offset=0=5 --from-beginning -o=json --key-encoding=hex
 --value-encoding=hex --proto-file=f --proto-import-path=p --protoset-file=f --key-proto-type=T --value-proto-type=T
 --filter-key=x --filter-value=x --filter-header=a=x -i=ReadCommitted --isolation-level=ReadCommitted
produce orders: -p=1 --partition=1 -P=random --partitioner=random --required-acks=WaitForAll --max-message-bytes=1 -k=k
 --key=k -v=x --value=x --null-value -f=f --file=f --input-format=json -H=a:b --header=a:b -S=, --separator=, -L=;
 --lineSeparator=; --key-schema-version=1 --value-schema-version=1 --key-encoding=hex --value-encoding=hex -s --silent
 -r=5 --rate=5 --proto-file=f
attach:
config view:
config use-context a:
config get-contexts:
config current-context:
completion bash:
version:
"""

KAF = """
consume orders: --offset=oldest --raw --output=json-each-row -f --follow -n=5 --tail=5 --proto-type=T --key-proto-type=T
 --proto-include=p --proto-exclude=p --decode-msgpack -p=0 --partitions=0 -l=5 --limit-messages=5 -g=g --group=g --commit
 --header=a:b --read-committed
produce orders: -k=k --key=k --raw-key -H=a:b --header=a:b -n=2 --repeat=2 --proto-type=T --partitioner=murmur2
 --timestamp=x
 -p=1 --partition=1 --avro-schema-id=1 --avro-key-schema-id=1 --input-mode=full --input=json --line-length-limit=5
 --template
query orders: -k=k --key=k --grep=x
topic ls: --no-headers
topics: --no-headers
topic describe orders:
topic create orders: -p=3 --partitions=3 -r=1 --replicas=1 --compact
topic update orders: -p=5 --partition-assignments=x
topic delete orders:
topic set-config orders a=b:
topic add-config orders a b:
topic rm-config orders a:
topic lag orders:
group ls: --no-headers
groups: --no-headers
group describe g: --no-members -t=orders --topic=orders
group delete g:
group delete-offsets g: -t=orders --topic=orders -p=0 --all-partitions --offset-map=x --noconfirm
group commit g: -t=orders --topic=orders -o=5 --offset=5 -p=0 --partition=0 --all-partitions --offset-map=x --noconfirm
group peek g: -t=orders --topics=orders -p=0 --partitions=0 -B=2 --before=2 -A=2 --after=2
node ls: --no-headers
nodes:
config current-context:
config use-cluster a:
config get-clusters:
config add-cluster a:
config add-eventhub a:
config select-cluster:
config remove-cluster a:
config import ccloud:
valid:
completion bash:
"""

SCRIPTS = """
kafka-topics.sh --list: --bootstrap-server=h:1 --command-config=f --exclude-internal --topic=orders
kafka-topics.sh --describe: --bootstrap-server=h:1 --topic=orders --under-replicated-partitions --unavailable-partitions
 --under-min-isr-partitions --at-min-isr-partitions --topics-with-overrides --exclude-internal
kafka-topics.sh --create --topic orders: --partitions=3 --replication-factor=1 --config=retention.ms=1 --if-not-exists
 --replica-assignment=1:2
kafka-topics.sh --alter --topic orders: --partitions=5 --if-exists
kafka-topics.sh --delete --topic orders: --if-exists
kafka-console-consumer.sh --topic orders: --bootstrap-server=h:1 --from-beginning --max-messages=5 --partition=0
 --offset=5
 --group=g --timeout-ms=500 --property=print.key=true --property=print.headers=true --formatter=x --include=o.*
 --isolation-level=read_committed --consumer-property=fetch.min.bytes=1 --consumer.config=f --skip-message-on-error
 --key-deserializer=x --value-deserializer=x
kafka-console-producer.sh --topic orders: --bootstrap-server=h:1 --property=parse.key=true --property=key.separator=:
 --compression-codec=gzip --request-required-acks=1 --batch-size=100 --sync --timeout=5 --producer-property=acks=1
 --producer.config=f
kafka-consumer-groups.sh --list: --bootstrap-server=h:1 --state=stable --type=consumer
kafka-consumer-groups.sh --describe --group g: --members --offsets --state --verbose --timeout=500
kafka-consumer-groups.sh --describe --all-groups: --members
kafka-consumer-groups.sh --reset-offsets --group g: --topic=orders --all-topics --to-earliest --to-latest --to-current
 --to-offset=5 --to-datetime=2026-11-21T10:00:00.000 --by-duration=PT1H --shift-by=-5 --from-file=f --execute
 --dry-run --export
kafka-consumer-groups.sh --delete --group g:
kafka-consumer-groups.sh --delete-offsets --group g: --topic=orders
kafka-groups.sh --list: --group-type=share --consumer --share --streams
kafka-share-groups.sh --list: --state=stable
kafka-share-groups.sh --describe --group g: --members --offsets --state --verbose
kafka-share-groups.sh --reset-offsets --group g:
kafka-share-groups.sh --delete --group g:
kafka-streams-groups.sh --list: --state=stable
kafka-streams-groups.sh --describe --group g: --members --offsets --state --topology --verbose --timeout=500
kafka-streams-groups.sh --reset-offsets --group g: --all-input-topics --input-topic=orders:0,1 --to-earliest --to-latest
 --to-current --to-offset=5 --to-datetime=2026-11-21T10:00:00Z --by-duration=PT1H --shift-by=-5 --shift-by=5 --from-file=f
 --execute --dry-run --delete-all-internal-topics --delete-internal-topic=g-s-changelog --export
kafka-streams-groups.sh --delete --group g: --delete-all-internal-topics
kafka-streams-groups.sh --delete-offsets --group g: --input-topic=orders --all-input-topics
kafka-configs.sh --describe --entity-type topics --entity-name orders: --all --bootstrap-server=h:1
kafka-configs.sh --describe --entity-type brokers --entity-name 1: --all
kafka-configs.sh --describe --entity-type brokers --entity-default:
kafka-configs.sh --describe --topic orders:
kafka-configs.sh --describe --broker 1:
kafka-configs.sh --describe --entity-type users --entity-name a:
kafka-configs.sh --describe --entity-type client-metrics --entity-name a:
kafka-configs.sh --describe --entity-type broker-loggers --entity-name 1:
kafka-configs.sh --alter --entity-type topics --entity-name orders: --add-config=a=1,b=2 --delete-config=a,b
 --add-config-file=f
kafka-configs.sh --alter --entity-type brokers --entity-name 1: --add-config=a=1
kafka-configs.sh --alter --entity-type groups --entity-name g: --add-config=a=1
kafka-configs.sh --alter --entity-type users --entity-name a: --add-config=producer_byte_rate=1
kafka-configs.sh --alter --entity-type users --entity-name a --add-config SCRAM-SHA-512=[password=x]:
kafka-configs.sh --alter --entity-type clients --entity-name c: --add-config=producer_byte_rate=1
kafka-configs.sh --alter --entity-type ips --entity-name 192.0.2.1: --add-config=connection_creation_rate=1
kafka-acls.sh --list: --topic=orders --group=g --principal=User:a --bootstrap-server=h:1
kafka-acls.sh --add --allow-principal User:a: --operation=Read --topic=orders --group=g --allow-host=192.0.2.1
 --resource-pattern-type=prefixed --cluster --transactional-id=x --producer --consumer --force
kafka-acls.sh --add --deny-principal User:a --operation Read: --topic=orders --deny-host=192.0.2.1
kafka-acls.sh --remove --allow-principal User:a: --operation=Read --topic=orders --force
kafka-get-offsets.sh: --topic=orders --time=-2 --time=-1 --time=1732180000000 --partitions=0 --topic-partitions=o:0
kafka-delete-records.sh: --offset-json-file=f
kafka-reassign-partitions.sh --generate: --topics-to-move-json-file=f --broker-list=1,2
kafka-reassign-partitions.sh --execute: --reassignment-json-file=f --throttle=100
kafka-reassign-partitions.sh --verify: --reassignment-json-file=f
kafka-reassign-partitions.sh --cancel: --reassignment-json-file=f
kafka-reassign-partitions.sh --list:
kafka-leader-election.sh: --election-type=preferred --election-type=unclean --topic=orders --partition=0
 --all-topic-partitions
kafka-transactions.sh list: --duration-filter=5000
kafka-transactions.sh describe: --transactional-id=x
kafka-transactions.sh describe-producers: --topic=orders --partition=0
kafka-transactions.sh find-hanging: --topic=orders --broker-id=1 --max-transaction-timeout=5
kafka-transactions.sh abort: --topic=orders --partition=0 --start-offset=5
kafka-log-dirs.sh --describe: --broker-list=1 --topic-list=orders
kafka-metadata-quorum.sh describe: --status --replication
kafka-metadata-quorum.sh add-controller:
kafka-metadata-quorum.sh remove-controller --controller-id 3: --controller-directory-id=KDx0V-jNQOaJDjifyusEUQ
kafka-features.sh describe:
kafka-features.sh upgrade --metadata 4.4-IV2: --feature=share.version=2
kafka-features.sh upgrade --release-version 4.4:
kafka-features.sh downgrade --feature share.version=1: --unsafe
kafka-features.sh disable --feature share.version:
kafka-cluster.sh cluster-id:
kafka-cluster.sh unregister --id 4:
kafka-cluster.sh list-endpoints: --include-fenced-brokers
kafka-broker-api-versions.sh: --bootstrap-server=h:1
kafka-producer-perf-test.sh --topic load: --num-records=10 --record-size=10 --throughput=-1 --producer-props=acks=1
 --producer.config=f --payload-file=f --print-metrics --transactional-id=x --warmup-records=5
kafka-consumer-perf-test.sh --topic load: --messages=10 --num-records=10 --group=g --threads=1 --reporting-interval=100
 --hide-header --show-detailed-stats --from-latest
kafka-e2e-latency.sh: --topic=load --num-records=10 --producer-acks=1 --record-size=10
kafka-verifiable-producer.sh --topic load: --max-messages=10 --throughput=5 --acks=1
kafka-verifiable-consumer.sh --topic load: --group-id=g --max-messages=10
kafka-configs.sh --alter --entity-type broker-loggers --entity-name 1: --add-config=kafka.server.KafkaApis=DEBUG
kafka-configs.sh --alter --entity-type client-metrics --entity-name a: --add-config=interval.ms=1000
kafka-configs.sh --describe --broker-logger 1:
kafka-configs.sh --describe --client-metrics a:
kafka-delegation-tokens.sh --create: --max-life-time-period=-1 --max-life-time-period=5000
 --renewer-principal=User:a --owner-principal=User:b --command-config=f
kafka-delegation-tokens.sh --renew --hmac x: --renew-time-period=-1 --renew-time-period=5000
kafka-delegation-tokens.sh --expire --hmac x: --expiry-time-period=-1 --expiry-time-period=5000
kafka-delegation-tokens.sh --describe: --owner-principal=User:a
kafka-client-metrics.sh --list:
kafka-client-metrics.sh --describe:
kafka-client-metrics.sh --describe --name a:
kafka-client-metrics.sh --delete --name a:
kafka-client-metrics.sh --alter --name a: --metrics=* --interval=5000 --match=client_id=a --generate-name
kafka-streams-application-reset.sh --application-id a: --input-topics=orders --intermediate-topics=orders
 --internal-topics=a-s-changelog --to-earliest --to-latest --to-offset=5 --to-datetime=2026-11-21T10:00:00Z
 --by-duration=PT1H --shift-by=-5 --from-file=f --dry-run --force --command-config=f
kafka-dump-log.sh --files f:
kafka-storage.sh format:
kafka-server-start.sh server.properties:
kafka-server-stop.sh:
connect-mirror-maker.sh mm2.properties:
connect-distributed.sh f:
kafka-console-share-consumer.sh --topic orders:
kafka-replica-verification.sh:
kafka-metadata-shell.sh:
"""

PEERS = {"kcat": KCAT, "kcl": KCL, "rpk": RPK, "kafkactl": KAFKACTL, "kaf": KAF, "scripts": SCRIPTS}


def rows(tool: str) -> list[tuple[list[str], list[list[str]]]]:
    """(words of a command, its flags with their values as words) of one tool."""
    found = []
    for row in PEERS[tool].replace("\n ", " ").strip().splitlines():
        head, _, flags = row.partition(": ") if ": " in row else (row.rstrip(": "), "", "")
        found.append((head.split(), [flag.split("=", 1) for flag in flags.split()]))
    return found
