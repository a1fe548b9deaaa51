import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.types.Types;

/**
 * Appends one file to a v1 table whose snapshots name their manifests themselves, with no manifest list between. Only old
 * Iceberg releases can write that; tables from before 2020 hold it. One run is one commit; the first one makes the table.
 */
public class LegacyTable {
  public static void main(String[] args) throws Exception {
    String location = args[0];
    String market = args[1];
    int firstId = Integer.parseInt(args[2]);

    HadoopTables tables = new HadoopTables(new Configuration());
    if (!tables.exists(location)) {
      Schema schema =
          new Schema(
              Types.NestedField.required(1, "id", Types.IntegerType.get()),
              Types.NestedField.optional(2, "market", Types.StringType.get()),
              Types.NestedField.optional(3, "price", Types.DoubleType.get()));
      tables.create(
          schema,
          PartitionSpec.builderFor(schema).identity("market").build(),
          Map.of("format-version", "1", "write.manifest-lists.enabled", "false"),
          location);
    }
    Table table = tables.load(location);

    Record row = GenericRecord.create(table.schema());
    row.setField("market", market);
    PartitionKey partition = new PartitionKey(table.spec(), table.schema());
    partition.partition(row);
    String path =
        table
            .locationProvider()
            .newDataLocation(table.spec(), partition, FileFormat.PARQUET.addExtension(UUID.randomUUID().toString()));
    DataWriter<Record> data =
        Parquet.writeData(table.io().newOutputFile(path))
            .forTable(table)
            .withSpec(table.spec())
            .withPartition(partition)
            .createWriterFunc(GenericParquetWriter::buildWriter)
            .build();
    try (data) {
      for (int id = firstId; id < firstId + 40; id++) {
        data.write(row.copy("id", id, "price", id * 0.25));
      }
    }
    table.newAppend().appendFile(data.toDataFile()).commit();
  }
}
