import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts the words of a topic: BOOTSTRAP APPLICATION PROTOCOL SOURCE SINK FOLDER STORE THREADS. It has a repartition topic
 * and a changelog. STORE is memory, or rocksdb, which keeps its state in FOLDER, too. A line on stdin ends it.
 */
public class WordCount {
    public static void main(String[] words) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", words[0]);
        settings.put("application.id", words[1]);
        settings.put("client.id", "count");
        settings.put("group.protocol", words[2]);
        settings.put("state.dir", words[5]);
        settings.put("num.stream.threads", words[7]);
        settings.put("commit.interval.ms", "100");
        settings.put("auto.offset.reset", "earliest");
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        Materialized<String, Long, KeyValueStore<Bytes, byte[]>> counts = words[6].equals("rocksdb")
            ? Materialized.as("counts")
            : Materialized.as(Stores.inMemoryKeyValueStore("counts"));
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(words[3])
            .flatMapValues(line -> List.of(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.as("words"))
            .count(counts.withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream()
            .mapValues(count -> Long.toString(count))
            .to(words[4], Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.start();
        System.in.read();
        streams.close(Duration.ofSeconds(20));
    }
}
