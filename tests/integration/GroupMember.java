import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The Java client as a member of a group: {@code GroupMember TOPIC KEY=VALUE…}. Tells on standard output what it
 * owns ({@code owned 0 2}) and what it has read ({@code read PARTITION OFFSET}); leaves when standard input ends. With
 * {@code enable.auto.commit=false} it commits after each poll that gave it records, and tells {@code refused} commits.
 * {@code busy.ms}: it works on them for so long before, has no listener, and commits by their offsets.
 */
public final class GroupMember {
    private static volatile boolean leaving = false;

    public static void main(String[] args) throws InterruptedException {
        Properties properties = new Properties();
        for (int i = 1; i < args.length; i++) {
            int sign = args[i].indexOf('=');
            properties.put(args[i].substring(0, sign), args[i].substring(sign + 1));
        }
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, bytes, bytes)) {
            Thread watcher = new Thread(() -> {
                try {
                    while (System.in.read() >= 0) { }
                } catch (java.io.IOException ended) {
                    // as good as the end
                }
                leaving = true;
                consumer.wakeup();
            });
            watcher.setDaemon(true);
            watcher.start();
            long busy = Long.parseLong(properties.getProperty("busy.ms", "0"));
            if (busy > 0) {
                consumer.subscribe(List.of(args[0]));
            } else {
                consumer.subscribe(List.of(args[0]), new Telling());
            }
            boolean byHand = "false".equals(properties.get("enable.auto.commit"));
            while (!leaving) {
                ConsumerRecords<byte[], byte[]> records;
                try {
                    records = consumer.poll(Duration.ofMillis(100));
                } catch (UnknownMemberIdException sentOut) { // KIP-848: it asked for offsets as the member that it was
                    say("refused");
                    continue;
                }
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    say("read " + record.partition() + " " + record.offset());
                }
                if (busy > 0) {
                    say(("owned " + consumer.assignment().stream().map(one -> String.valueOf(one.partition()))
                        .collect(Collectors.joining(" "))).trim());
                }
                if (byHand && !records.isEmpty()) {
                    try {
                        if (busy > 0) {
                            Map<TopicPartition, OffsetAndMetadata> done = new HashMap<>();
                            records.forEach(one -> done.put(
                                new TopicPartition(one.topic(), one.partition()), new OffsetAndMetadata(one.offset() + 1)));
                            Thread.sleep(busy);
                            consumer.commitSync(done);
                        } else {
                            consumer.commitSync();
                        }
                    } catch (WakeupException leave) {
                        throw leave;
                    } catch (KafkaException refused) { // CommitFailed, RebalanceInProgress, UnknownMemberId
                        say("refused");
                    }
                }
            }
        } catch (WakeupException leave) {
            // closed by the block
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static final class Telling implements ConsumerRebalanceListener {
        private final TreeSet<Integer> owned = new TreeSet<>();

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            partitions.forEach(one -> owned.add(one.partition()));
            tell();
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            partitions.forEach(one -> owned.remove(one.partition()));
            tell();
        }

        private void tell() {
            say(("owned " + owned.stream().map(String::valueOf).collect(Collectors.joining(" "))).trim());
        }
    }
}
