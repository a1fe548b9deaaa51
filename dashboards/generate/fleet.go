package main

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

const tableURL = "/d/" + tableUID + "?${datasource:queryparam}&${__url_time_range}"

var (
	// From a row of a grid, and from a series of a graph, to the dashboard of its table.
	rowToTable = link{title: "Iceberg table", url: tableURL +
		"&var-catalog=${__data.fields.Catalog:percentencode}" +
		"&var-namespace=${__data.fields.Namespace:percentencode}" +
		"&var-table=${__data.fields.Table:percentencode}"}
	seriesToTable = link{title: "Iceberg table", url: tableURL +
		"&var-catalog=${__field.labels.catalog:percentencode}" +
		"&var-namespace=${__field.labels.namespace:percentencode}" +
		"&var-table=${__field.labels.table:percentencode}"}
)

const tableLegend = "{{namespace}}.{{table}}"

func fleet() page {
	return page{
		uid:     fleetUID,
		title:   "Iceberg fleet",
		about:   "Which Iceberg tables are worst, and by what.",
		from:    "now-7d",
		refresh: "5m",
		variables: []dashboard.VariableModel{
			datasourceVariable(),
			many("catalog", "Catalog", "Catalogs to show.", "label_values(iceberg_table_up, catalog)"),
			many("namespace", "Namespace", "Namespaces to show.", `label_values(iceberg_table_up{catalog=~"$catalog"}, namespace)`),
			many("table", "Table", "Tables to show.", `label_values(iceberg_table_up{catalog=~"$catalog",namespace=~"$namespace"}, table)`),
			storagePrice(),
		},
		rows: []row{
			{panels: []panel{
				number("Tables", "Tables that the exporters watch.", units.Short,
					"count("+perTable("iceberg_table_up", someTables)+")"),
				overLimit(),
				alerting("Critical alerts", "critical", "red"),
				alerting("Warnings", "warning", "orange"),
				unreadable(someTables),
				number("Data", "Size of all live data files.", units.BytesIEC,
					"sum("+perTable("table:iceberg_table_data_bytes:max", someTables)+")"),
				number("Data files", "Live data files of all tables.", units.Short,
					"sum("+perTable("table:iceberg_table_data_files:max", someTables)+")"),
				number("Small files", "Share of the data files that are smaller than the small-file threshold of their table.", units.PercentUnit,
					"sum("+perTable("iceberg_table_small_data_files", someTables)+") / sum("+perTable("iceberg_table_data_files", someTables)+")").precise(0),
				indexCard(),
				topOffenders(),
				firingAlerts(),
			}},
			{"The figures behind the card", []panel{figures()}},
			{"Drift", []panel{
				drift(),
				graph("Average file size of the tables that shrink most",
					"The ten tables whose average data file has shrunk most against a week ago. A table within its limits that rots shows here first."+runbook("IcebergLayoutDrift"),
					units.BytesIEC,
					query{tableLegend, perTable("table:iceberg_table_data_file_average_bytes:max", someTables) +
						" and on (" + id + ") bottomk(10, " + atEnd("table:iceberg_table_data_file_average_bytes:ratio1w", someTables) + " < 1)"},
				).ranked().each(seriesToTable).size(12, 9),
			}},
			{"Size and growth", []panel{
				graph("Data by catalog", "Size of the live data files.", units.BytesIEC,
					query{"{{catalog}}", "sum by (catalog) (" + perTable("table:iceberg_table_data_bytes:max", someTables) + ")"},
				).stacked().size(8, 9),
				graph("Data files by catalog", "Live data files.", units.Short,
					query{"{{catalog}}", "sum by (catalog) (" + perTable("table:iceberg_table_data_files:max", someTables) + ")"},
				).stacked().size(8, 9),
				bars("Data files by size", "Live data files of all tables by size: each bar counts the files up to the size named and above the one before. Files far below the target size cost planning, scheduling and requests.", units.Short,
					query{"{{le}}", "sum by (le) (max by (" + id + ", le) (iceberg_table_data_file_size_bytes_bucket{" + someTables + "}))"},
				).histogram().size(8, 9),
				graph("Data files of the largest tables", "The ten tables with the most live data files."+runbook("IcebergDataFilesHigh"), units.Short,
					query{tableLegend, largest("table:iceberg_table_data_files:max", someTables)},
				).ranked().each(seriesToTable),
				graph("Commits a day", "The ten tables that are committed to most often, without compactions. Many commits make many small files, manifests and snapshots.", units.Short,
					query{tableLegend, largest("table:iceberg_table_recent_commits:per_day", someTables)},
				).ranked().each(seriesToTable),
			}},
			{"Storage and its price, where orphan scanning is on", fleetStorage()},
			{"What maintenance would do", []panel{
				bars("Most bytes to compact", "The ten tables for which rewrite_data_files would rewrite most with its default options.", units.BytesIEC,
					query{tableLegend, "topk(10, " + perTable("table:iceberg_table_compaction_candidate_bytes:max", someTables) + " > 0)"},
				).each(seriesToTable).size(12, 8),
				number("To compact", "Bytes that rewrite_data_files would rewrite now with its default options.",
					units.BytesIEC, "sum("+perTable("table:iceberg_table_compaction_candidate_bytes:max", someTables)+")").size(6, 4),
				number("Files to compact", "Data files that rewrite_data_files would rewrite now with its default options.",
					units.Short, "sum("+perTable("table:iceberg_table_compaction_candidate_files:max", someTables)+")").size(6, 4),
				number("Snapshots to expire", "Snapshots that expire_snapshots would expire now with its default options.",
					units.Short, "sum("+perTable("table:iceberg_table_expirable_snapshots:max", someTables)+")").size(6, 4),
				number("Manifests to rewrite", "Manifests that rewrite_manifests would read now with its default options.",
					units.Short, "sum("+perTable("table:iceberg_table_rewritable_manifests:sum", someTables)+")").size(6, 4),
			}},
		},
	}
}

func fleetStorage() []panel {
	sum := func(metric string) string { return "sum(" + perTable(metric, someTables) + ")" }
	byState := "sum by (state) (max by (" + id + ", state) (iceberg_table_storage_bytes{" + someTables + "}))"
	return []panel{
		number("Stored", "All that lies under the locations of the tables that are scanned, old files and orphans included."+storagePage,
			units.BytesIEC, sum("table:iceberg_table_storage_bytes:sum")).size(4, 4),
		number("Stored, a month", "What that costs in a month, at the price above. Versions and replicas of objects are not counted."+storagePage,
			units.Dollars, dollarsAMonth(sum("table:iceberg_table_storage_bytes:sum"))).size(4, 4).precise(2),
		number("Orphans", "Bytes that no snapshot refers to."+runbook("IcebergOrphanRatioHigh"),
			units.BytesIEC, sum("table:iceberg_table_orphan_bytes:max")).size(4, 4),
		number("Reclaimable", "Bytes that expire_snapshots and remove_orphan_files would free now with their default options.",
			units.BytesIEC, sum("table:iceberg_table_reclaimable_bytes:sum")).size(4, 4),
		number("Reclaimable, a month", "What those bytes cost in a month, at the price above.",
			units.Dollars, dollarsAMonth(sum("table:iceberg_table_reclaimable_bytes:sum"))).size(4, 4).precise(2),
		failingScans(),
		graph("Price of storage by state", "What the files of all tables that are scanned cost in a month, at the price above."+storagePage, units.Dollars,
			query{"{{state}}", dollarsAMonth(byState)},
		).stacked().byState().size(8, 9),
		mostReclaimable(),
	}
}

// failingScans is empty, and not zero, where nothing is scanned.
func failingScans() panel {
	p := number("Scans that fail", "Tables whose last scan of storage failed, so that their figures are old or not there."+runbook("IcebergOrphanScanFailing"), units.Short,
		"sum("+perTable("iceberg_table_orphan_scan_success", someTables)+" == bool 0)").size(4, 4)
	p.colors = anyIs("orange")
	return p
}

func mostReclaimable() panel {
	const most = "Reclaimable"
	top := " and on (" + id + ") topk(10, " + perTable("table:iceberg_table_reclaimable_bytes:sum", someTables) + " > 0)"
	columns := tableColumns()
	var queries []query
	for _, f := range []struct {
		name, unit, expr string
	}{
		{most, units.BytesIEC, perTable("table:iceberg_table_reclaimable_bytes:sum", someTables)},
		{"A month", units.Dollars, dollarsAMonth(perTable("table:iceberg_table_reclaimable_bytes:sum", someTables))},
		{"By expiry", units.BytesIEC, perTable("table:iceberg_table_expirable_bytes:max", someTables)},
		{"By the sweep", units.BytesIEC, perTable("table:iceberg_table_orphan_bytes:max", someTables)},
		{"Stored", units.BytesIEC, perTable("table:iceberg_table_storage_bytes:sum", someTables)},
		{"Stored, a month", units.Dollars, dollarsAMonth(perTable("table:iceberg_table_storage_bytes:sum", someTables))},
	} {
		c := column{name: f.name, unit: f.unit, width: 125}
		if f.unit == units.Dollars {
			c.decimals = new(2.0)
		}
		columns = append(columns, c)
		queries = append(queries, query{f.name, f.expr + top})
	}
	return grid("Most reclaimable", "The ten tables for which expire_snapshots and remove_orphan_files would free most with their default options: how much, what that costs in a month at the price above, what each of the two would free, and all that the table stores.",
		most, columns, queries...).size(16, 9)
}

func overLimit() panel {
	p := number("Over a limit", "Tables with at least one figure beyond its limit. The alerts wait for an hour or more, this number does not.", units.Short,
		orZero("count(count by ("+id+") ((\n  "+allFigures(someTables)+"\n) > 1))"))
	p.colors = anyIs("orange")
	return p
}

func alerting(title, severity, color string) panel {
	p := number(title, "Firing alerts of the severity "+severity+". They are listed below.", units.Short,
		orZero("count(max by (alertname, "+id+", job, instance) ("+firing(`severity="`+severity+`",`+someTables)+"))"))
	p.colors = anyIs(color)
	return p
}

func unreadable(selector string) panel {
	p := number("Unreadable", "Tables that no exporter could read at its last refresh. Their figures are old or gone."+runbook("IcebergTableDown"), units.Short,
		orZero("count("+perTable("iceberg_table_up", selector)+" == 0)"))
	p.colors = anyIs("red")
	return p
}

func tableColumns() []column {
	return []column{
		{name: "Catalog", label: "catalog", width: 110, links: []link{rowToTable}},
		{name: "Namespace", label: "namespace", width: 120, links: []link{rowToTable}},
		{name: "Table", label: "table", links: []link{rowToTable}},
	}
}

// indexCard is the heart of the fleet: a row a table, a column a line of the card.
func indexCard() panel {
	const worst = "Worst"
	columns := append(tableColumns(),
		column{name: worst, unit: times, decimals: new(2.0), width: 110, colors: limitColors()},
		column{name: "By its", label: "threshold", width: 160, mappings: figureTexts()})
	queries := []query{{worst, "topk by (" + id + ") (1,\n  " + allFigures(someTables) + "\n)"}}
	var about strings.Builder
	about.WriteString("One row a table, worst first. Each column is a line of the index card: its worst figure over the limit that is configured for the table. " +
		"Orange is beyond the limit, where alerts warn; red beyond four times the limit, where they page. " +
		"A dash means that the table has no such limit, or nothing to measure.")
	for _, l := range card {
		columns = append(columns, column{name: l.name, unit: times, decimals: new(2.0), width: 130, colors: limitColors(), mappings: dash()})
		// Not a number where there is no limit: a column without a single value would disappear.
		queries = append(queries, query{l.name, l.worst(someTables) + " or on (" + id + ") " + perTable("iceberg_table_up", someTables) + " * NaN"})
		about.WriteString("\n\n- **" + l.name + "**: " + l.about)
	}
	const readable = "Readable"
	columns = append(columns, column{name: readable, width: 100, mappings: upOrDown()})
	queries = append(queries, query{readable, perTable("iceberg_table_up", someTables)})
	return grid("Index card", about.String(), worst, columns, queries...).size(gridWidth, 11)
}

func figureTexts() []dashboard.ValueMapping {
	texts := map[string]dashboard.ValueMappingResult{}
	for i, name := range sortedKeys(figureNames) {
		texts[name] = dashboard.ValueMappingResult{Text: new(figureNames[name]), Index: new(int32(i))}
	}
	return mapping(texts)
}

// topOffenders ends the bars at twice the critical limit, or one bad table would hide all others.
func topOffenders() panel {
	const ratio = "Over limit"
	columns := append(tableColumns(),
		column{name: "Figure", label: "threshold", width: 150, mappings: figureTexts()},
		column{name: ratio, unit: times, decimals: new(2.0), width: 125, colors: limitColors(), gauge: 8})
	return grid("Top offenders", "The twelve figures that are furthest beyond their limits, or closest to them. The bars end at eight times the limit, the numbers do not.",
		ratio, columns,
		query{ratio, "topk(12, (\n  " + allFigures(someTables) + "\n) > 0)"},
	).size(10, 10)
}

func firingAlerts() panel {
	const labels = "alertname, severity, " + id
	const urgent = `severity=~"critical|warning",` + someTables
	toRunbook := link{title: "Runbook", url: runbooks + "${__data.fields.Alert}.md", newTab: true}
	columns := []column{
		{name: "Severity", label: "severity", width: 100, mappings: mapping(map[string]dashboard.ValueMappingResult{
			"critical": {Color: new("red"), Index: new(int32(0))},
			"warning":  {Color: new("orange"), Index: new(int32(1))},
		})},
		{name: "Alert", label: "alertname", width: 270, links: []link{toRunbook}},
	}
	columns = append(columns, tableColumns()...)
	columns = append(columns, column{name: "Since", unit: units.DateTimeFromNow, width: 130})
	return grid("Firing alerts", "Warnings and critical alerts of this project that fire now, critical ones first, with the time since when their condition holds. The name links to the runbook, the table to its dashboard. Empty when all is well.",
		"Since", columns,
		query{"Since", "max by (" + labels + ") (ALERTS_FOR_STATE{alertname=~\"Iceberg.+\"," + urgent + "}) * 1000" +
			" and on (" + labels + ") " + firing(urgent)},
	).ascending("Severity").size(14, 10)
}

// figures are the numbers that the card compares, in their own units.
func figures() panel {
	columns := tableColumns()
	var queries []query
	for _, f := range []struct {
		name, unit, metric string
		width              int
	}{
		{"Data", units.BytesIEC, "table:iceberg_table_data_bytes:max", 90},
		{"Files", units.Short, "table:iceberg_table_data_files:max", 75},
		{"Average", units.BytesIEC, "table:iceberg_table_data_file_average_bytes:max", 90},
		{"Small", units.PercentUnit, "table:iceberg_table_small_data_file_ratio:max", 75},
		{"New files", units.BytesIEC, "table:iceberg_table_recent_added_bytes_per_data_file:ratio", 90},
		{"Target", units.BytesIEC, "iceberg_table_target_file_size_bytes", 80},
		{"Compacted", units.Seconds, "table:iceberg_table_compaction_age_seconds:lower_bound", 105},
		{"Deletes", units.PercentUnit, "table:iceberg_table_delete_files_per_data_file:ratio", 85},
		{"Snapshots", units.Short, "table:iceberg_table_snapshots:max", 95},
		{"Oldest", units.Seconds, "table:iceberg_table_oldest_snapshot_age_seconds:max", 95},
		{"Manifests", units.Short, "table:iceberg_table_manifests:sum", 95},
		{"metadata", units.BytesIEC, "table:iceberg_table_metadata_bytes:max", 95},
		{"Orphans", units.PercentUnit, "table:iceberg_table_orphan_ratio:max", 85},
		{"Committed", units.Seconds, "table:iceberg_table_snapshot_age_seconds:min", 105},
	} {
		columns = append(columns, column{name: f.name, unit: f.unit, width: f.width})
		queries = append(queries, query{f.name, perTable(f.metric, someTables)})
	}
	return grid("Figures", "What the index card compares with the limits, in its own units: size of the data, live data files, their average size, the share of small ones, "+
		"the average size of the newest files and the target size of the writer, at least how long the last compaction is ago, delete files for each data file, retained snapshots and the age of the oldest, manifests, "+
		"the size of metadata.json, the share of orphaned bytes, and the age of the last commit.",
		"Data", columns, queries...).size(gridWidth, 11)
}

func drift() panel {
	shrinks := steps("red", from(0.25, "orange"), from(0.5, "green"))
	grows := steps("green", from(2, "orange"), from(4, "red"))
	columns := append(tableColumns(),
		column{name: "Size, week", unit: units.PercentUnit, decimals: new(0.0), width: 95, colors: shrinks},
		column{name: "Size, day", unit: units.PercentUnit, decimals: new(0.0), width: 95, colors: shrinks},
		column{name: "Files, week", unit: times, decimals: new(1.0), width: 95, colors: grows},
		column{name: "Files, day", unit: times, decimals: new(1.0), width: 95, colors: grows})
	return grid("Drift", "The average file size now as a share of what it was a week and a day ago, and the number of files as a multiple. "+
		"Alerts warn when the average has halved or the files have doubled while their average shrank, and page at a quarter or four times. Files count only where there were 100."+runbook("IcebergLayoutDrift"),
		"Files, week", columns,
		query{"Size, week", perTable("table:iceberg_table_data_file_average_bytes:ratio1w", someTables)},
		query{"Size, day", perTable("table:iceberg_table_data_file_average_bytes:ratio1d", someTables)},
		query{"Files, week", perTable("table:iceberg_table_data_files:ratio1w", someTables)},
		query{"Files, day", perTable("table:iceberg_table_data_files:ratio1d", someTables)},
	).size(12, 9)
}
