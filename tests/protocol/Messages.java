// Reads messages by Kafka's own classes and writes them again. Input: batches, each a count and so many messages of class,
// version, length and bytes. Output: of each message the length and the bytes, or -1 and why it cannot be read.

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;

import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

public class Messages {
    private record Asked(String name, short version, byte[] data) {}

    public static void main(String[] arguments) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 20));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 20));
        while (true) {
            int count;
            try {
                count = in.readInt();
            } catch (EOFException end) {
                return;
            }
            Asked[] batch = new Asked[count];
            for (int i = 0; i < count; i++)
                batch[i] = new Asked(in.readUTF(), in.readShort(), in.readNBytes(in.readInt()));
            for (Asked asked : batch)
                answer(asked, out);
            out.flush();
        }
    }

    private static void answer(Asked asked, DataOutputStream out) throws IOException {
        try {
            byte[] written = again(asked);
            out.writeInt(written.length);
            out.write(written);
        } catch (ReflectiveOperationException | RuntimeException error) {
            out.writeInt(-1);
            out.writeUTF(error.toString());
        }
    }

    private static byte[] again(Asked asked) throws ReflectiveOperationException {
        Message message = (Message) Class.forName(asked.name).getDeclaredConstructor().newInstance();
        ByteBufferAccessor readable = new ByteBufferAccessor(ByteBuffer.wrap(asked.data));
        message.read(readable, asked.version);
        if (readable.remaining() > 0)
            throw new IllegalStateException(readable.remaining() + " bytes are left");
        if (!message.unknownTaggedFields().isEmpty())
            throw new IllegalStateException("unknown tagged fields");
        return MessageUtil.byteBufferToArray(MessageUtil.toByteBufferAccessor(message, asked.version).buffer());
    }
}
