import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** The same as member.py, which describes its output: RewindMember TOPIC HABIT BUSY_MS KEY=VALUE… */
public final class RewindMember {
    private static final long CALLBACK_PAUSE_MS = 2_000;
    private static volatile boolean leaving = false;
    private static volatile boolean left = false;
    private static volatile long longMs = 0;

    private final String topic;
    private final String habit;
    private final long busyMs;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private Map<TopicPartition, OffsetAndMetadata> open = new HashMap<>();
    private Map<TopicPartition, OffsetAndMetadata> refused = new HashMap<>(); // of the retry habit
    private Map<TopicPartition, OffsetAndMetadata> given = new HashMap<>();
    private Map<TopicPartition, OffsetAndMetadata> taken = new HashMap<>();
    private long workerLongMs = 0;
    private long due = 0;
    private long committed = System.nanoTime();
    private Set<Integer> owned = new TreeSet<>();

    private RewindMember(String[] args, Properties properties) {
        topic = args[0];
        habit = args[1];
        busyMs = Long.parseLong(args[2]);
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        consumer = new KafkaConsumer<>(properties, bytes, bytes);
    }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        for (int i = 3; i < args.length; i++) {
            int sign = args[i].indexOf('=');
            properties.put(args[i].substring(0, sign), args[i].substring(sign + 1));
        }
        Thread listener = new Thread(() -> {
            Scanner lines = new Scanner(System.in);
            while (lines.hasNextLine()) {
                longMs = (long) (1000 * Double.parseDouble(lines.nextLine().split(" ")[1]));
            }
            leaving = true;
        });
        listener.setDaemon(true);
        listener.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            leaving = true;
            while (!left) {
                pause(10);
            }
        }));
        RewindMember member = new RewindMember(args, properties);
        try {
            member.run();
        } finally {
            try {
                member.consumer.close();
            } finally {
                left = true;
            }
        }
    }

    private void run() {
        if (habit.equals("callback")) {
            consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> partitions) { }

                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                    commitOpen();
                }
            });
        } else {
            consumer.subscribe(List.of(topic));
        }
        while (!leaving) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
            sayOwned();
            if (!records.isEmpty()) {
                sayRead(records);
                work(records);
            } else if (!refused.isEmpty() && commit(refused)) {
                refused = new HashMap<>();
            }
            turnWorker();
        }
    }

    private void work(ConsumerRecords<byte[], byte[]> records) {
        long wished = longMs;
        longMs = 0;
        if (wished > 0) {
            say("long " + now());
        }
        Map<TopicPartition, OffsetAndMetadata> done = new HashMap<>();
        records.forEach(one -> done.put(
            new TopicPartition(one.topic(), one.partition()), new OffsetAndMetadata(one.offset() + 1)));
        if (habit.equals("worker")) {
            given.putAll(done);
            workerLongMs = Math.max(workerLongMs, wished);
            return;
        }
        pause(wished > 0 ? wished : busyMs);
        switch (habit) {
            case "record":
                records.forEach(one -> commit(Map.of(
                    new TopicPartition(one.topic(), one.partition()), new OffsetAndMetadata(one.offset() + 1))));
                break;
            case "batch":
                commit(null);
                break;
            case "explicit":
                commit(done);
                break;
            case "retry":
                refused.putAll(done);
                if (commit(refused)) {
                    refused = new HashMap<>();
                }
                break;
            case "callback":
                open.putAll(done);
                if (System.nanoTime() - committed > CALLBACK_PAUSE_MS * 1_000_000) {
                    committed = System.nanoTime();
                    commitOpen();
                }
                break;
            default: // by itself
        }
    }

    /** Takes all there is, works on it for a while, and commits it. */
    private void turnWorker() {
        if (!taken.isEmpty() && System.nanoTime() >= due) {
            commit(taken);
            taken = new HashMap<>();
        }
        if (taken.isEmpty() && !given.isEmpty()) {
            taken = given;
            given = new HashMap<>();
            due = System.nanoTime() + 1_000_000 * (workerLongMs > 0 ? workerLongMs : Math.max(1_000, busyMs));
            workerLongMs = 0;
        }
    }

    private void commitOpen() {
        if (!open.isEmpty()) {
            commit(open);
            open = new HashMap<>();
        }
    }

    private boolean commit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        try {
            if (offsets == null) {
                consumer.commitSync();
            } else {
                consumer.commitSync(offsets);
            }
            say("commit " + now());
            return true;
        } catch (KafkaException error) { // CommitFailed, RebalanceInProgress, UnknownMemberId
            say("refused " + now() + " " + error.getClass().getSimpleName());
            return false;
        }
    }

    private void sayRead(ConsumerRecords<byte[], byte[]> records) {
        StringBuilder line = new StringBuilder("read " + now());
        for (TopicPartition place : records.partitions()) {
            long first = -1;
            long end = -1;
            for (ConsumerRecord<byte[], byte[]> one : records.records(place)) {
                if (one.offset() != end) {
                    if (first >= 0) {
                        line.append(" " + place.partition() + " " + first + " " + end);
                    }
                    first = one.offset();
                }
                end = one.offset() + 1;
            }
            line.append(" " + place.partition() + " " + first + " " + end);
        }
        say(line.toString());
    }

    private void sayOwned() {
        Set<Integer> all = new TreeSet<>();
        consumer.assignment().forEach(one -> all.add(one.partition()));
        if (!all.equals(owned)) {
            owned = all;
            StringBuilder line = new StringBuilder("owned " + now());
            all.forEach(one -> line.append(" " + one));
            say(line.toString());
        }
    }

    /** Seconds of the clock that Python's time.monotonic() has on Linux, too. */
    private static double now() {
        return System.nanoTime() / 1e9;
    }

    private static void pause(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;
        while (System.nanoTime() < end) {
            try {
                Thread.sleep(Math.max(1, (end - System.nanoTime()) / 1_000_000));
            } catch (InterruptedException again) {
                // until it is over
            }
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
