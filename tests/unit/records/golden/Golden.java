// Writes golden.txt with Kafka's own code, and reads batches that kcli wrote. Not part of the test run:
//   java -cp kafka-clients-3.9.2.jar:slf4j-api.jar:lz4-java.jar:snappy-java.jar:zstd-jni.jar Golden.java > golden.txt
//   java -cp ... Golden.java read < batches-in-hex
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Scanner;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.*;

public class Golden {
    static final Header[] NONE = new Header[0];

    public static void main(String[] args) {
        if (args.length > 0) {
            read();
            return;
        }
        for (CompressionType codec : CompressionType.values()) {
            for (byte magic = 0; magic <= 2; magic++) {
                if (codec == CompressionType.ZSTD && magic < 2) continue;
                build("magic" + magic + "-" + codec.name, magic, codec, TimestampType.CREATE_TIME, false, false);
                if (magic > 0)
                    build("magic" + magic + "-" + codec.name + "-appendtime", magic, codec,
                        TimestampType.LOG_APPEND_TIME, false, false);
            }
        }
        build("gaps", (byte) 2, CompressionType.NONE, TimestampType.CREATE_TIME, true, false);
        build("gaps-magic1-gzip", (byte) 1, CompressionType.GZIP, TimestampType.CREATE_TIME, true, false);
        build("transactional", (byte) 2, CompressionType.NONE, TimestampType.CREATE_TIME, false, true);
        print("commit-marker", MemoryRecords.withEndTransactionMarker(500, 123456, 3, 9000L, (short) 4,
            new EndTransactionMarker(ControlRecordType.COMMIT, 7)).buffer());
        ByteBuffer empty = ByteBuffer.allocate(61);
        DefaultRecordBatch.writeEmptyHeader(empty, (byte) 2, 9000L, (short) 4, 11, 100, 109, 5,
            TimestampType.CREATE_TIME, 123456, false, false);
        empty.flip();
        print("empty", empty);
    }

    static void build(String name, byte magic, CompressionType codec, TimestampType type, boolean gaps, boolean txn) {
        ByteBuffer buffer = ByteBuffer.allocate(1 << 16);
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(buffer, magic, Compression.of(codec).build(), type,
            77L, 555_000L, txn ? 9000L : -1L, (short) (txn ? 4 : -1), txn ? 11 : -1, txn, false, 3, buffer.capacity());
        int step = gaps ? 5 : 1;
        Header[] headers = magic < 2 ? NONE : new Header[] {
            new RecordHeader("h1", b("1")), new RecordHeader("é", null), new RecordHeader("h1", b(""))};
        builder.appendWithOffset(77L, 1000L, null, b("value-0"), NONE);
        builder.appendWithOffset(77L + step, 990L, b("key"), null, NONE);
        builder.appendWithOffset(77L + 2 * step, 1_700_000_000_000L, b(""), b(""), headers);
        builder.appendWithOffset(77L + 3 * step, 1000L, b("k".repeat(100)), b("x".repeat(700)), NONE);
        print(name, builder.build().buffer());
    }

    static void read() {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            byte[] bytes = HexFormat.of().parseHex(lines.nextLine().trim());
            int count = 0;
            long sum = 0;
            MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(bytes));
            for (RecordBatch batch : records.batches()) {
                batch.ensureValid();
                for (org.apache.kafka.common.record.Record record : batch) {
                    record.ensureValid();
                    count++;
                    sum += record.offset() * 31 + record.timestamp() + record.keySize() * 7L + record.valueSize() * 3L
                        + record.headers().length;
                }
                System.out.println(batch.compressionType().name + " " + batch.producerId() + " " + batch.producerEpoch()
                    + " " + batch.baseSequence() + " " + batch.isTransactional() + " " + batch.maxTimestamp()
                    + " " + batch.lastOffset() + " " + count + " " + sum);
            }
        }
    }

    static byte[] b(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static void print(String name, ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        System.out.println(name + " " + HexFormat.of().formatHex(bytes));
    }
}
