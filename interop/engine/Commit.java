import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestWriter;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.io.PositionOutputStream;

/**
 * One commit of files that are exactly as a case wants them, through Iceberg's Java API. Spark decides by itself into how
 * many files it writes, and writes no equality deletes.
 *
 * <p>The tables have the columns {@code id BIGINT, day INT, region STRING, payload STRING}.
 */
public class Commit {
  private final Table table;
  private final FileFormat format;
  private final OutputFileFactory files;
  private final List<DataFile> data = new ArrayList<>();
  private final List<DeleteFile> deletes = new ArrayList<>();

  public Commit(Table table) {
    this.table = table;
    this.format = FileFormat.fromString(table.properties().getOrDefault("write.format.default", "parquet"));
    this.files = OutputFileFactory.builderFor(table, 1, 1).format(format).build();
  }

  private GenericFileWriterFactory.Builder writers() {
    return new GenericFileWriterFactory.Builder(table).dataFileFormat(format).deleteFileFormat(format);
  }

  /** Text that does not compress, the same for the same id. */
  private static String payload(long id, int length) {
    Random random = new Random(id);
    StringBuilder text = new StringBuilder(length);
    for (int i = 0; i < length; i++) {
      text.append((char) ('0' + random.nextInt(64)));
    }
    return text.toString();
  }

  private Record row(long id, Integer day, String region, int bytes) {
    Record row = GenericRecord.create(table.schema());
    row.setField("id", id);
    row.setField("day", day);
    row.setField("region", region);
    row.setField("payload", payload(id, bytes));
    return row;
  }

  private PartitionKey partition(Integer day, String region) {
    PartitionKey key = new PartitionKey(table.spec(), table.schema());
    key.partition(row(0, day, region, 0));
    return key;
  }

  private EncryptedOutputFile newFile(PartitionKey partition) {
    return table.spec().isUnpartitioned() ? files.newOutputFile() : files.newOutputFile(table.spec(), partition);
  }

  /** A data file of this many rows, with a payload of this many bytes each. */
  public DataFile data(Integer day, String region, int rows, int bytes) throws IOException {
    PartitionKey partition = partition(day, region);
    DataWriter<Record> writer = writers().build().newDataWriter(newFile(partition), table.spec(), partition);
    try (writer) {
      for (int id = 0; id < rows; id++) {
        writer.write(row(id, day, region, bytes));
      }
    }
    DataFile file = writer.toDataFile();
    data.add(file);
    return file;
  }

  /** Files that are named but do not exist: enough for procedures that do not read them. */
  public void named(Integer day, String region, int count) {
    for (int i = 0; i < count; i++) {
      at(table.locationProvider().newDataLocation(UUID.randomUUID() + ".parquet"), day, region);
    }
  }

  /** A data file that is named as it is spelled here. */
  public void at(String path, Integer day, String region) {
    DataFiles.Builder file =
        DataFiles.builder(table.spec())
            .withPath(path)
            .withFormat(format)
            .withFileSizeInBytes(1_000_000)
            .withRecordCount(1000);
    if (table.spec().isPartitioned()) {
      file.withPartition(partition(day, region));
    }
    data.add(file.build());
  }

  /** A position delete file with the first rows of each of these files, which are of one partition. */
  public DeleteFile positions(List<DataFile> of, int rows) throws IOException {
    DataFile first = of.get(0);
    var spec = table.specs().get(first.specId());
    EncryptedOutputFile file =
        spec.isUnpartitioned() ? files.newOutputFile() : files.newOutputFile(spec, first.partition());
    PositionDeleteWriter<Record> writer = writers().build().newPositionDeleteWriter(file, spec, first.partition());
    List<String> paths = new ArrayList<>();
    of.forEach(each -> paths.add(each.location()));
    paths.sort(null);
    try (writer) {
      PositionDelete<Record> position = PositionDelete.create();
      for (String path : paths) {
        for (int row = 0; row < rows; row++) {
          writer.write(position.set(path, row));
        }
      }
    }
    return added(writer.toDeleteFile());
  }

  private DeleteFile added(DeleteFile file) {
    deletes.add(file);
    return file;
  }

  /** A deletion vector with the first rows of each of these files, all in one Puffin file. */
  public List<DeleteFile> vectors(List<DataFile> of, int rows) throws IOException {
    OutputFileFactory puffins = OutputFileFactory.builderFor(table, 1, 1).format(FileFormat.PUFFIN).build();
    BaseDVFileWriter writer = new BaseDVFileWriter(puffins, path -> null);
    try (writer) {
      for (DataFile file : of) {
        for (int row = 0; row < rows; row++) {
          writer.delete(file.location(), row, table.specs().get(file.specId()), file.partition());
        }
      }
    }
    deletes.addAll(writer.result().deleteFiles());
    return writer.result().deleteFiles();
  }

  /** An equality delete file of these rows, by id and payload. */
  public DeleteFile equalities(Integer day, String region, int rows, int bytes) throws IOException {
    PartitionKey partition = partition(day, region);
    Schema key = table.schema().select("id", "payload");
    int[] ids = key.columns().stream().mapToInt(column -> column.fieldId()).toArray();
    EqualityDeleteWriter<Record> writer =
        writers()
            .equalityFieldIds(ids)
            .equalityDeleteRowSchema(key)
            .build()
            .newEqualityDeleteWriter(newFile(partition), table.spec(), partition);
    try (writer) {
      Record deleted = GenericRecord.create(key);
      for (long id = 0; id < rows; id++) {
        writer.write(deleted.copy("id", id, "payload", payload(id, bytes)));
      }
    }
    return added(writer.toDeleteFile());
  }

  /** Commits to a branch. An append adds one manifest; with deletes there is one of each content. */
  public void to(String branch) {
    if (deletes.isEmpty()) {
      AppendFiles append = table.newFastAppend();
      data.forEach(append::appendFile);
      append.toBranch(branch).commit();
      return;
    }
    RowDelta delta = table.newRowDelta();
    data.forEach(delta::addRows);
    deletes.forEach(delta::addDeletes);
    delta.toBranch(branch).commit();
  }

  /** Commits the data files, in a snapshot that no branch has yet. */
  public void stage() {
    AppendFiles append = table.newFastAppend();
    data.forEach(append::appendFile);
    append.stageOnly().commit();
  }

  /** Commits the data files in a manifest that is named as it is spelled here. */
  public void toManifest(String path) throws IOException {
    OutputFile file = new SpelledFile(table.io().newOutputFile(path), path);
    ManifestWriter<DataFile> writer = ManifestFiles.write(2, table.spec(), file, null);
    try (writer) {
      data.forEach(writer::add);
    }
    table.newFastAppend().appendManifest(writer.toManifestFile()).commit();
  }

  /** A file whose name stays as it is spelled: Hadoop's own would spell it anew. */
  private record SpelledFile(OutputFile file, String location) implements OutputFile {
    @Override
    public PositionOutputStream create() {
      return file.create();
    }

    @Override
    public PositionOutputStream createOrOverwrite() {
      return file.createOrOverwrite();
    }

    @Override
    public InputFile toInputFile() {
      return file.toInputFile();
    }
  }
}
