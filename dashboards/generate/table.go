package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

const (
	// The arithmetic of a full scan, as in the runbooks: two GETs a file, at the list price of S3.
	getsPerFile   = "2"
	dollarsPerGet = "0.0004 / 1000"

	// commit.manifest.target-size-bytes, which the exporter does not publish, has this default.
	manifestTarget = "8 * 1024 * 1024"

	// Where the account of a table's storage comes from, and what it costs to have it.
	storagePage = " [About scans of storage](" + documents + "storage.md)"
)

func table() page {
	return page{
		uid:     tableUID,
		title:   "Iceberg table",
		about:   "The layout of one Iceberg table: its index card on top, the evidence below.",
		from:    "now-7d",
		refresh: "5m",
		variables: []dashboard.VariableModel{
			datasourceVariable(),
			one("catalog", "Catalog", "The catalog of the table.", "label_values(iceberg_table_up, catalog)"),
			one("namespace", "Namespace", "The namespace of the table.", `label_values(iceberg_table_up{catalog="$catalog"}, namespace)`),
			one("table", "Table", "The table.", `label_values(iceberg_table_up{catalog="$catalog",namespace="$namespace"}, table)`),
			storagePrice(),
		},
		annotations: []dashboard.AnnotationQuery{
			mark("Compactions", "green", "Compaction", perTable("iceberg_table_last_compaction_timestamp_seconds", oneTable)),
			mark("Manifest rewrites", "purple", "Manifest rewrite", perTable("iceberg_table_last_manifest_rewrite_timestamp_seconds", oneTable)),
		},
		rows: []row{
			{panels: append(append(cardTiles(), cardFigures()...), properties(), reading())},
			{"Data files", []panel{
				buckets("File sizes over time", "How many live data files are how large. A healthy table has its files around its target size; bands that grow at the bottom are small files that pile up.",
					"max by (le) (iceberg_table_data_file_size_bytes_bucket{"+oneTable+"})"),
				bars("File sizes now", "Live data files by size: each bar counts the files up to the size named and above the one before.", units.Short,
					query{"{{le}}", "max by (le) (iceberg_table_data_file_size_bytes_bucket{" + oneTable + "})"},
				).histogram().size(8, 9),
				graph("Data files", "Live data files, and those smaller than the small-file threshold."+runbook("IcebergDataFilesHigh"), units.Short,
					query{"all", perTable("table:iceberg_table_data_files:max", oneTable)},
					query{"small", perTable("iceberg_table_small_data_files", oneTable)},
				).series("all", solid("blue")).series("small", solid("orange")).size(8, 8),
				graph("Data", "Total size of the live data files.", units.BytesIEC,
					query{"data", perTable("table:iceberg_table_data_bytes:max", oneTable)},
				).size(8, 8),
				graph("Target size against reality", "The average of all data files and of the newest ones, against the target size of the writer, the small-file threshold and the limit. If the newest files are small, fix the writer: compaction only repairs."+runbook("IcebergNewFilesSmall"),
					units.BytesIEC,
					query{"all files", perTable("table:iceberg_table_data_file_average_bytes:max", oneTable)},
					query{"newest files", perTable("table:iceberg_table_recent_added_bytes_per_data_file:ratio", oneTable)},
					query{"target", perTable("iceberg_table_target_file_size_bytes", oneTable)},
					query{"small-file threshold", perTable("iceberg_table_small_file_threshold_bytes", oneTable)},
					query{"limit", limitOf("average_file_size_bytes")},
				).logarithmic().
					series("all files", solid("blue")).series("newest files", solid("purple")).
					series("target", dashed("green")).series("small-file threshold", dashed("orange")).series("limit", dashed("red")).size(8, 8),
			}},
			{"A full scan", fullScan()},
			{"History", []panel{
				graph("Snapshots by operation", "Retained snapshots by what they did. A `replace` is maintenance: compactions and manifest rewrites.", units.Short,
					query{"{{operation}}", once("operation", "iceberg_table_snapshot_operations")},
				).stacked().size(8, 8),
				graph("Snapshots", "Retained snapshots against their limit, and those that expire_snapshots would expire."+runbook("IcebergSnapshotsHigh"), units.Short,
					query{"retained", perTable("table:iceberg_table_snapshots:max", oneTable)},
					query{"expirable", perTable("table:iceberg_table_expirable_snapshots:max", oneTable)},
					query{"limit", limitOf("snapshots")},
				).series("retained", solid("blue")).series("expirable", solid("orange")).series("limit", dashed("red")).size(8, 8),
				graph("Age of snapshots", "The age of the current and of the oldest snapshot, and of the oldest one that a tag or a branch holds, against the table's own retention policy. An oldest snapshot far above the policy means that nothing expires."+runbook("IcebergSnapshotExpiryOverdue"),
					units.Seconds,
					query{"current", perTable("table:iceberg_table_snapshot_age_seconds:min", oneTable)},
					query{"oldest", perTable("table:iceberg_table_oldest_snapshot_age_seconds:max", oneTable)},
					query{"held by a ref", perTable("table:iceberg_table_oldest_ref_snapshot_age_seconds:max", oneTable)},
					query{"retention policy", perTable("iceberg_table_max_snapshot_age_seconds", oneTable)},
				).series("current", solid("blue")).series("oldest", solid("orange")).series("held by a ref", solid("purple")).series("retention policy", dashed("green")).size(8, 8),
				graph("Commits a day", "Commits of the recent window, projected to a day, without compactions.", units.Short,
					query{"commits", perTable("table:iceberg_table_recent_commits:per_day", oneTable)},
				).size(12, 7),
				graph("Branches and tags", "References to snapshots. Each holds its snapshot and the files of it."+runbook("IcebergRefPinsSnapshots"), units.Short,
					query{"{{ref_type}}", once("ref_type", "iceberg_table_refs")},
				).size(12, 7),
			}},
			{"Compaction and deletes", []panel{
				graph("Since the last compaction", "At least how long ago data files were last compacted, against its limit. Where no compaction is retained in the history, this is the age of the history."+runbook("IcebergCompactionOverdue"), units.Seconds,
					query{"age", perTable("table:iceberg_table_compaction_age_seconds:lower_bound", oneTable)},
					query{"limit", limitOf("compaction_age_seconds")},
				).series("age", solid("blue")).series("limit", dashed("red")).size(8, 8),
				graph("Appends since the last compaction", "Retained appends after the last retained compaction, or all of them.", units.Short,
					query{"appends", perTable("iceberg_table_appends_since_compaction", oneTable)},
				).size(8, 8),
				graph("What compaction would do", "Files that rewrite_data_files would rewrite now with its default options, files that it would write, and position-delete files that rewrite_position_delete_files would rewrite.", units.Short,
					query{"files to rewrite", perTable("table:iceberg_table_compaction_candidate_files:max", oneTable)},
					query{"files it would write", perTable("iceberg_table_compaction_output_files", oneTable)},
					query{"delete files to rewrite", perTable("iceberg_table_delete_compaction_candidate_files", oneTable)},
				).size(8, 8),
				graph("Delete files", "Live delete files. Readers apply them to data files at each scan; equality deletes cost most."+runbook("IcebergDeleteFileRatioHigh"), units.Short,
					query{"{{content}}", once("content", "iceberg_table_delete_files")},
				).stacked().size(8, 8),
				graph("Deleted rows", "Rows of the live delete files: positions, or keys of equality deletes.", units.Short,
					query{"{{content}}", once("content", "iceberg_table_delete_records")},
				).stacked().size(8, 8),
				graph("Size of deletes", "Size of the live delete files. A deletion vector counts its own bytes.", units.BytesIEC,
					query{"{{content}}", once("content", "iceberg_table_delete_bytes")},
				).stacked().size(8, 8),
			}},
			{"Metadata", []panel{
				graph("Manifests", "Manifests of the current snapshot, against their limit. Planning reads all that partition filters do not exclude."+runbook("IcebergManifestsHigh"), units.Short,
					query{"{{content}}", once("content", "iceberg_table_manifests")},
					query{"limit", "sum(" + limitOf("manifests") + ")"},
				).series("data", solid("blue")).series("deletes", solid("orange")).series("limit", dashed("red")).size(8, 8),
				graph("Average manifest", "Mean size of the manifests, against the default target of 8 MiB. Many small manifests want rewrite_manifests."+runbook("IcebergManifestsSmall"), units.BytesIEC,
					query{"average", perTable("table:iceberg_table_manifest_bytes_per_manifest:ratio", oneTable)},
					query{"default target", "vector(" + manifestTarget + ")"},
				).logarithmic().series("average", solid("blue")).series("default target", dashed("green")).size(8, 8),
				graph("metadata.json", "Size of the current metadata file, which each commit writes anew, against its limit."+runbook("IcebergMetadataFileLarge"), units.BytesIEC,
					query{"size", perTable("table:iceberg_table_metadata_bytes:max", oneTable)},
					query{"limit", limitOf("metadata_bytes")},
				).logarithmic().series("size", solid("blue")).series("limit", dashed("red")).size(8, 8),
				graph("Metadata log", "Previous metadata files that the table tracks, and how many it may. In a full log each commit drops one; without delete-after-commit that file stays as an orphan."+runbook("IcebergMetadataLogFull"), units.Short,
					query{"entries", perTable("iceberg_table_metadata_log_entries", oneTable)},
					query{"at most", perTable("iceberg_table_metadata_log_limit", oneTable)},
				).series("entries", solid("blue")).series("at most", dashed("red")).size(12, 7),
				graph("Manifests to rewrite", "Manifests that rewrite_manifests would read now with its default options, and how many it would write.", units.Short,
					query{"read", "sum(" + once("content", "iceberg_table_rewritable_manifests") + ")"},
					query{"written", "sum(" + once("content", "iceberg_table_manifest_rewrite_output_manifests") + ")"},
				).size(12, 7),
			}},
			{"Partitions", []panel{
				worstPartitions(),
				graph("Partitions", "Distinct partitions with live data files.", units.Short,
					query{"partitions", perTable("iceberg_table_partitions", oneTable)},
				).size(8, 9),
			}},
			{"Storage, where orphan scanning is on", stored()},
		},
	}
}

func limitOf(threshold string) string {
	return perTable("table_threshold:iceberg_table_threshold:max", `threshold="`+threshold+`",`+oneTable)
}

// cardTiles are the lines of the index card, coloured by their worst figure.
func cardTiles() []panel {
	var tiles []panel
	for _, l := range card {
		tiles = append(tiles, tile(l.name,
			"The worst figure of this line over its limit: "+l.about+". Orange is beyond the limit, red beyond four times the limit. A dash means that the table has no such limit, or nothing to measure.",
			times, l.worst(oneTable), limitColors()).precise(2).size(4, 3))
	}
	return tiles
}

// cardFigures are the numbers below the tiles, in their own units.
func cardFigures() []panel {
	all := func(title, about string, figures ...column) panel {
		p := numbers(title, about, units.Short)
		for _, f := range figures {
			p.queries = append(p.queries, query{f.name, f.label})
			p = p.series(f.name, map[string]any{"unit": f.unit})
		}
		return p.size(4, 5)
	}
	recorded := func(name, unit, metric string) column {
		return column{name: name, unit: unit, label: perTable(metric, oneTable)}
	}
	return []panel{
		all("Files", "Live data files, their average size, and the share of small ones."+runbook("IcebergAverageFileSizeLow"),
			recorded("Files", units.Short, "table:iceberg_table_data_files:max"),
			recorded("Average", units.BytesIEC, "table:iceberg_table_data_file_average_bytes:max"),
			recorded("Small", units.PercentUnit, "table:iceberg_table_small_data_file_ratio:max")),
		all("Writer", "What the recent commits added, and the size the writer aims at."+runbook("IcebergNewFilesSmall"),
			recorded("New files", units.Short, "table:iceberg_table_recent_added_data_files:max"),
			recorded("Average", units.BytesIEC, "table:iceberg_table_recent_added_bytes_per_data_file:ratio"),
			recorded("Target", units.BytesIEC, "iceberg_table_target_file_size_bytes")),
		all("Compaction", "At least how long ago the last compaction was, appends since, and delete files for each data file."+runbook("IcebergCompactionOverdue"),
			recorded("Not for", units.Seconds, "table:iceberg_table_compaction_age_seconds:lower_bound"),
			recorded("Appends since", units.Short, "iceberg_table_appends_since_compaction"),
			recorded("Deletes", units.PercentUnit, "table:iceberg_table_delete_files_per_data_file:ratio")),
		all("Metadata", "Retained snapshots, manifests of the current one, and the size of metadata.json."+runbook("IcebergSnapshotsHigh"),
			recorded("Snapshots", units.Short, "table:iceberg_table_snapshots:max"),
			recorded("Manifests", units.Short, "table:iceberg_table_manifests:sum"),
			recorded("metadata.json", units.BytesIEC, "table:iceberg_table_metadata_bytes:max")),
		all("Storage", "What no snapshot refers to, and what expiry and the sweep would free now. Only where orphan scanning is on."+runbook("IcebergOrphanRatioHigh"),
			recorded("Orphans", units.PercentUnit, "table:iceberg_table_orphan_ratio:max"),
			recorded("Orphaned", units.BytesIEC, "table:iceberg_table_orphan_bytes:max"),
			recorded("Reclaimable", units.BytesIEC, "table:iceberg_table_reclaimable_bytes:sum")),
		all("Commits", "How long ago the table was last committed to, and how often it is."+runbook("IcebergTableStale"),
			recorded("Last", units.Seconds, "table:iceberg_table_snapshot_age_seconds:min"),
			recorded("A day", units.Short, "table:iceberg_table_recent_commits:per_day"),
			recorded("Rows", units.Short, "iceberg_table_records")),
	}
}

func properties() panel {
	columns := []column{
		{name: "Format", label: "format_version", width: 80},
		{name: "Partitioned", label: "partitioned", width: 105},
		{name: "Distribution mode", label: "distribution_mode", width: 150},
		{name: "Fanout", label: "fanout_enabled", width: 90},
		{name: "File format", label: "file_format", width: 110},
		{name: "Deletes by", label: "delete_mode", width: 130},
		{name: "Delete old metadata", label: "metadata_delete_after_commit", width: 160},
		{name: "Location", label: "location"},
	}
	// Two queries and no join: a join fails while two exporters disagree about a table.
	p := grid("Properties", "What the table is, and how its properties tell writers to write. An empty cell is a property that is not set."+runbook("IcebergDistributionModeNone"),
		"Location", columns,
		query{"identity", "max by (" + id + ", format_version, partitioned, location) (iceberg_table_info{" + oneTable + "})"},
		query{"writer", "max by (" + id + ", distribution_mode, fanout_enabled, file_format, delete_mode, metadata_delete_after_commit) (iceberg_table_writer_info{" + oneTable + "})"})
	return p.hiding("catalog", "namespace", "table", "Value #A", "Value #B").size(18, 4)
}

func reading() panel {
	p := numbers("Reading", "Whether the last refresh of the table succeeded, and when the figures were last right."+runbook("IcebergTableDown"), units.Short,
		query{"Readable", perTable("iceberg_table_up", oneTable)},
		query{"As of", perTable("iceberg_table_last_refresh_success_timestamp_seconds", oneTable) + " * 1000"})
	return p.
		series("Readable", map[string]any{"mappings": upOrDown()}).
		series("As of", map[string]any{"unit": units.DateTimeFromNow}).
		size(6, 4)
}

func fullScan() []panel {
	files := perTable("table:iceberg_table_data_files:max", oneTable) + " + on (" + id + ") " + perTable("table:iceberg_table_delete_files:sum", oneTable)
	gets := getsPerFile + " * (" + files + ")"
	// The same bytes in files of the target size, and no deletes.
	ideal := getsPerFile + " * ceil(" + perTable("table:iceberg_table_data_bytes:max", oneTable) + " / on (" + id + ") " + perTable("iceberg_table_target_file_size_bytes", oneTable) + ")"
	const arithmetic = " Two GETs a data or delete file, at $0.0004 per 1,000. [The arithmetic](" + runbooks + "maintenance-order.md#the-arithmetic)"
	return []panel{
		graph("GET requests of a full scan", "Estimated requests of one scan without a filter, and what the same bytes would take in files of the target size."+arithmetic, units.Short,
			query{"now", gets},
			query{"at the target size", ideal},
		).series("now", solid("blue")).series("at the target size", dashed("green")).size(12, 8),
		number("Requests", "Estimated GET requests of one scan without a filter."+arithmetic, units.Short, gets).size(6, 4),
		number("Dollars", "Estimated price of those requests for one scan."+arithmetic, units.Dollars, "("+gets+") * "+dollarsPerGet).size(6, 4).precise(6),
		numbers("Scheduling", "Time that an engine needs to schedule one task a data file, at 1 to 10 ms each. Engines put small files together into tasks, at less than that but not at nothing.", units.Seconds,
			query{"at 1 ms", perTable("table:iceberg_table_data_files:max", oneTable) + " * 0.001"},
			query{"at 10 ms", perTable("table:iceberg_table_data_files:max", oneTable) + " * 0.01"}).size(6, 4),
		number("Requests at the target size", "Estimated GET requests of the same scan if the bytes were in files of the target size."+arithmetic, units.Short, ideal).size(6, 4),
	}
}

func worstPartitions() panel {
	byPartition := func(metric string) string {
		return "max by (partition) (" + metric + "{" + oneTable + "})"
	}
	return grid("Worst partitions", "Partitions with the most live data files. Needs `partitions_top` in the exporter's configuration, which is off by default.",
		"Files", []column{
			{name: "Partition", label: "partition"},
			{name: "Files", width: 110},
			{name: "Data", unit: units.BytesIEC, width: 120},
			{name: "Average file", unit: units.BytesIEC, width: 130},
		},
		query{"Files", byPartition("iceberg_table_partition_data_files")},
		query{"Data", byPartition("iceberg_table_partition_data_bytes")},
		query{"Average file", byPartition("iceberg_table_partition_data_bytes") + " / (" + byPartition("iceberg_table_partition_data_files") + " > 0)"},
	).size(16, 9)
}

func storagePrice() dashboard.VariableModel {
	return typed("price", "$ a GiB and month", "What the object store takes for a GiB in a month. The preset is the list price of S3 Standard in us-east-1.", "0.023")
}

func stored() []panel {
	bytes := once("state", "iceberg_table_storage_bytes")
	return []panel{
		missing(),
		number("Files the sweep would delete", "What remove_orphan_files would delete.", units.Short,
			perTable("iceberg_table_orphan_files", oneTable)).size(4, 4),
		lastScan(),
		graph("Storage by state", "Everything under the table's location, once each: files of the current snapshot, files that only other retained snapshots hold, metadata, files too young to judge, orphans, and what the sweep would never look at because of its name."+storagePage, units.BytesIEC,
			query{"{{state}}", bytes},
		).stacked().byState().size(8, 8),
		number("Storage, a month", "What all that lies under the table's location costs in a month, at the price above. Versions and replicas of objects are not counted."+storagePage, units.Dollars,
			dollarsAMonth(perTable("table:iceberg_table_storage_bytes:sum", oneTable))).size(4, 4).precise(2),
		number("Reclaimable, a month", "What expire_snapshots and remove_orphan_files would save in a month, with their default options and at the price above.", units.Dollars,
			dollarsAMonth(perTable("table:iceberg_table_reclaimable_bytes:sum", oneTable))).size(4, 4).precise(2),
		graph("Files by state", "The number of the same files."+storagePage, units.Short,
			query{"{{state}}", once("state", "iceberg_table_storage_files")},
		).stacked().byState().size(8, 8),
		graph("Price of storage by state", "What the same files cost in a month, at the price above.", units.Dollars,
			query{"{{state}}", dollarsAMonth(bytes)},
		).stacked().byState().size(8, 8),
		graph("Orphans", "Bytes under the table's location that no snapshot refers to, as a share of all, against the limit."+runbook("IcebergOrphanRatioHigh"), units.PercentUnit,
			query{"orphans", perTable("table:iceberg_table_orphan_ratio:max", oneTable)},
			query{"limit", limitOf("orphan_ratio")},
		).series("orphans", solid("blue")).series("limit", dashed("red")).size(8, 8),
		graph("What expiry and the sweep would free", "Bytes that only snapshots hold that expire_snapshots would expire, and orphans, which remove_orphan_files would delete; both with their default options.", units.BytesIEC,
			query{"expiry", perTable("table:iceberg_table_expirable_bytes:max", oneTable)},
			query{"sweep", perTable("table:iceberg_table_orphan_bytes:max", oneTable)},
		).stacked().series("expiry", solid("yellow")).series("sweep", solid("red")).size(12, 7),
		graph("Since the last good scan", "How long ago the last good scan began, against the three intervals after which an alert warns."+runbook("IcebergOrphanScanStale"), units.Seconds,
			query{"age", perTable("table:iceberg_table_orphan_scan_age_seconds:min", oneTable)},
			query{"three intervals", "3 * " + perTable("table:iceberg_table_orphan_scan_interval_seconds:max", oneTable)},
		).series("age", solid("blue")).series("three intervals", dashed("red")).size(12, 7),
	}
}

func lastScan() panel {
	p := numbers("Last scan", "Whether the last scan of the table's storage succeeded and how long it took, when the last good one began, and how often there should be one. While scans fail, the figures are those of the last good one."+runbook("IcebergOrphanScanFailing"), units.Seconds,
		query{"Succeeded", perTable("iceberg_table_orphan_scan_success", oneTable)},
		query{"Took", perTable("iceberg_table_orphan_scan_duration_seconds", oneTable)},
		query{"Good as of", perTable("iceberg_table_last_orphan_scan_timestamp_seconds", oneTable) + " * 1000"},
		query{"Every", perTable("table:iceberg_table_orphan_scan_interval_seconds:max", oneTable)})
	return p.
		series("Succeeded", map[string]any{"mappings": upOrDown()}).
		series("Good as of", map[string]any{"unit": units.DateTimeFromNow}).
		size(8, 8)
}

func missing() panel {
	p := number("Files missing", "Files of the current snapshot that belong under the table's location and that the last good scan did not find: queries fail."+runbook("IcebergFilesMissing"), units.Short,
		perTable("iceberg_table_missing_files", oneTable)).size(4, 4)
	p.colors = anyIs("red")
	return p
}
