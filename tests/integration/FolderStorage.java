import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/** Remote storage of a broker (KIP-405) that is a folder, {@code dir}: each file of a segment is a file in it. */
public final class FolderStorage implements RemoteStorageManager {
    private Path folder;

    @Override
    public void configure(Map<String, ?> configs) {
        folder = Path.of((String) configs.get("dir"));
    }

    @Override
    public Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata segment, LogSegmentData data)
            throws RemoteStorageException {
        try {
            Files.createDirectories(folder);
            Files.copy(data.logSegment(), file(segment, "LOG"));
            Files.copy(data.offsetIndex(), file(segment, "OFFSET"));
            Files.copy(data.timeIndex(), file(segment, "TIMESTAMP"));
            Files.copy(data.producerSnapshotIndex(), file(segment, "PRODUCER_SNAPSHOT"));
            if (data.transactionIndex().isPresent()) {
                Files.copy(data.transactionIndex().get(), file(segment, "TRANSACTION"));
            }
            ByteBuffer epochs = data.leaderEpochIndex().duplicate();
            byte[] bytes = new byte[epochs.remaining()];
            epochs.get(bytes);
            Files.write(file(segment, "LEADER_EPOCH"), bytes);
        } catch (IOException error) {
            throw new RemoteStorageException(error);
        }
        return Optional.empty();
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start) throws RemoteStorageException {
        return fetchLogSegment(segment, start, Integer.MAX_VALUE - 1);
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start, int last)
            throws RemoteStorageException {
        byte[] bytes = read(segment, "LOG");
        return new ByteArrayInputStream(Arrays.copyOfRange(bytes, start, Math.min(last + 1, bytes.length)));
    }

    @Override
    public InputStream fetchIndex(RemoteLogSegmentMetadata segment, IndexType kind) throws RemoteStorageException {
        return new ByteArrayInputStream(read(segment, kind.name()));
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
        try {
            Files.deleteIfExists(file(segment, "LOG"));
            for (IndexType kind : IndexType.values()) {
                Files.deleteIfExists(file(segment, kind.name()));
            }
        } catch (IOException error) {
            throw new RemoteStorageException(error);
        }
    }

    @Override
    public void close() {}

    private byte[] read(RemoteLogSegmentMetadata segment, String kind) throws RemoteStorageException {
        Path file = file(segment, kind);
        if (!Files.exists(file)) {
            throw new RemoteResourceNotFoundException("there is no " + file);
        }
        try {
            return Files.readAllBytes(file);
        } catch (IOException error) {
            throw new RemoteStorageException(error);
        }
    }

    private Path file(RemoteLogSegmentMetadata segment, String kind) {
        return folder.resolve(segment.remoteLogSegmentId().id() + "." + kind);
    }
}
