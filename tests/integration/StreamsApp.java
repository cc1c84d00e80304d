import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/** Copies a topic as a member of a streams group (KIP-1071): BOOTSTRAP GROUP SOURCE SINK FOLDER. It keeps no state. */
public class StreamsApp {
    public static void main(String[] words) throws InterruptedException {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", words[0]);
        settings.put("application.id", words[1]);
        settings.put("client.id", "app");
        settings.put("group.protocol", "streams");
        settings.put("state.dir", words[4]);
        settings.put("commit.interval.ms", "200");
        settings.put("default.key.serde", Serdes.ByteArraySerde.class);
        settings.put("default.value.serde", Serdes.ByteArraySerde.class);
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(words[2]).to(words[3]);
        new KafkaStreams(builder.build(), settings).start();
        Thread.sleep(600_000);
    }
}
