import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.types.Types;

/**
 * Upserts as Flink's sink makes them, through Iceberg's Java API: Spark never writes equality deletes itself.
 */
public class EqualityDeletes {
  /**
   * One checkpoint: the rows of {@code items} items of a depot. An upsert first deletes whatever earlier commits hold for
   * these keys (an equality delete); a key written twice within the checkpoint loses its first row by position.
   */
  public static void checkpoint(
      Table table, String depot, int firstItem, int items, int quantity, boolean upsert, boolean twice)
      throws Exception {
    Schema schema = table.schema();
    Record row = GenericRecord.create(schema);
    row.setField("depot", depot);
    PartitionKey partition = new PartitionKey(table.spec(), schema);
    partition.partition(row);
    OutputFileFactory files =
        OutputFileFactory.builderFor(table, 1, quantity).format(FileFormat.PARQUET).build();
    RowDelta delta = table.newRowDelta();

    DataWriter<Record> data =
        Parquet.writeData(files.newOutputFile(table.spec(), partition))
            .forTable(table)
            .withSpec(table.spec())
            .withPartition(partition)
            .createWriterFunc(GenericParquetWriter::create)
            .build();
    try (data) {
      if (twice) {
        data.write(row.copy("item", firstItem, "quantity", 0));
      }
      for (int item = firstItem; item < firstItem + items; item++) {
        data.write(row.copy("item", item, "quantity", quantity));
      }
    }
    DataFile written = data.toDataFile();
    delta.addRows(written);

    if (upsert) {
      Schema key = schema.select("depot", "item");
      int[] keyIds = key.columns().stream().mapToInt(Types.NestedField::fieldId).toArray();
      EqualityDeleteWriter<Record> deletes =
          Parquet.writeDeletes(files.newOutputFile(table.spec(), partition))
              .forTable(table)
              .withSpec(table.spec())
              .withPartition(partition)
              .rowSchema(key)
              .equalityFieldIds(keyIds)
              .createWriterFunc(GenericParquetWriter::create)
              .buildEqualityWriter();
      try (deletes) {
        Record deleted = GenericRecord.create(key);
        for (int item = firstItem; item < firstItem + items; item++) {
          deletes.write(deleted.copy("depot", depot, "item", item));
        }
      }
      delta.addDeletes(deletes.toDeleteFile());
    }

    if (twice) {
      PositionDeleteWriter<Record> deletes =
          Parquet.writeDeletes(files.newOutputFile(table.spec(), partition))
              .withSpec(table.spec())
              .withPartition(partition)
              .buildPositionWriter();
      try (deletes) {
        PositionDelete<Record> first = PositionDelete.create();
        deletes.write(first.set(written.location(), 0));
      }
      delta.addDeletes(deletes.toDeleteFile());
    }
    delta.commit();
  }
}
