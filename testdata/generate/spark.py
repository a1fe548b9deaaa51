"""The Spark session that writes the tables and is asked about them."""

import os

from pyspark.sql import SparkSession

LOCATION = os.environ["WAREHOUSE_LOCATION"]


def session() -> SparkSession:
    settings = {
        "spark.master": "local[1]",
        "spark.app.name": "iceberg_exporter testdata",
        "spark.driver.memory": "1g",
        "spark.driver.extraClassPath": os.environ["ICEBERG_CLASSPATH"],
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": os.environ["SCRATCH"],
        "spark.sql.warehouse.dir": os.environ["SCRATCH"] + "/spark-warehouse",
        "spark.sql.session.timeZone": "UTC",
        # One shuffle partition, so a write makes one file a table partition.
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.warehouse": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.warehouse.type": "hadoop",
        "spark.sql.catalog.warehouse.warehouse": "file://" + LOCATION,
    }
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
