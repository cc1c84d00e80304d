import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes what the Java client writes: {@code MirrorWriter BOOTSTRAP TOPIC COUNT}. Partitions 0 to 4 get COUNT records with
 * no compression, gzip, snappy, lz4 and zstd; 5 those of transactions of 10 records, each third aborted; 6 those of a
 * producer that is not idempotent.
 */
public final class MirrorWriter {
    private static final String[] CODECS = {"none", "gzip", "snappy", "lz4", "zstd"};

    public static void main(String[] args) {
        int count = Integer.parseInt(args[2]);
        for (int partition = 0; partition < 7; partition++) {
            Properties properties = new Properties();
            properties.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
            properties.put(ProducerConfig.LINGER_MS_CONFIG, "50");
            properties.put(ProducerConfig.BATCH_SIZE_CONFIG, "4000");
            properties.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, CODECS[partition % CODECS.length]);
            properties.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, String.valueOf(partition != 6));
            if (partition == 5) {
                properties.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, args[1]);
            }
            ByteArraySerializer bytes = new ByteArraySerializer();
            try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, bytes, bytes)) {
                if (partition == 5) {
                    producer.initTransactions();
                    for (int first = 0; first < count; first += 10) {
                        producer.beginTransaction();
                        write(producer, args[1], partition, first, first + 10);
                        if (first / 10 % 3 == 2) {
                            producer.flush(); // what is not sent before an abort never reaches the log
                            producer.abortTransaction();
                        } else {
                            producer.commitTransaction();
                        }
                    }
                } else {
                    write(producer, args[1], partition, 0, count);
                }
            }
        }
    }

    private static void write(KafkaProducer<byte[], byte[]> producer, String topic, int partition, int first, int stop) {
        for (int number = first; number < stop; number++) {
            byte[] key = number % 5 == 0 ? null : number % 5 == 1 ? new byte[0] : bytes("key " + number);
            byte[] value = number % 7 == 0 ? null : number % 7 == 1 ? new byte[0] : bytes(number + "v".repeat(number % 300));
            ProducerRecord<byte[], byte[]> record =
                new ProducerRecord<>(topic, partition, 1_600_000_000_000L - number * 1_000L, key, value);
            for (int header = 0; header < number % 4; header++) {
                byte[] content = header == 0 ? null : header == 1 ? new byte[0] : bytes("content");
                record.headers().add(new RecordHeader("same name", content));
            }
            producer.send(record);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
