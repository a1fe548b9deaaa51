package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

func exporter() page {
	rate := func(by, counter string) string {
		return "sum by (" + by + ") (rate(" + counter + "{" + someExporters + "}[$__rate_interval]))"
	}
	// Scans come once a day or so: a day tells what they ask for, and its rate what a month costs.
	const operations = "iceberg_exporter_storage_requests_total"
	month := func(operation, price string) string {
		return "sum(rate(" + operations + `{operation=~"` + operation + `",` + someExporters + "}[1d])) * 30 * 86400 * " + price
	}
	each := func(gauge string) string {
		return "max by (instance) (" + gauge + "{" + someExporters + "})"
	}
	return page{
		uid:     exporterUID,
		title:   "Iceberg exporter",
		about:   "Whether the exporters do their work: refreshes, catalogs, manifest cache, requests to storage, process.",
		from:    "now-6h",
		refresh: "1m",
		variables: []dashboard.VariableModel{
			datasourceVariable(),
			many("job", "Job", "Scrape jobs of exporters.", "label_values(iceberg_exporter_build_info, job)"),
			many("instance", "Instance", "Exporters to show.", `label_values(iceberg_exporter_build_info{job=~"$job"}, instance)`),
			many("catalog", "Catalog", "Catalogs to show.", `label_values(iceberg_catalog_up{job=~"$job",instance=~"$instance"}, catalog)`),
			many("namespace", "Namespace", "Namespaces of the tables to show.", `label_values(iceberg_table_up{job=~"$job",instance=~"$instance",catalog=~"$catalog"}, namespace)`),
			many("table", "Table", "Tables to show.", `label_values(iceberg_table_up{job=~"$job",instance=~"$instance",catalog=~"$catalog",namespace=~"$namespace"}, table)`),
			typed("list_price", "$ for 1,000 lists", "What the object store takes for 1,000 requests that list a page of objects. The preset is the list price of S3 Standard in us-east-1.", "0.005"),
		},
		rows: []row{
			{panels: []panel{
				none("Targets down", "Scrape targets that do not answer Prometheus."+runbook("IcebergExporterDown"),
					"count(max by (job, instance) (up{"+someExporters+"}) == 0)"),
				none("Catalogs down", "Catalogs that did not answer when they were last listed or asked for a table."+runbook("IcebergCatalogDown"),
					`count(max by (catalog) (iceberg_catalog_up{`+someExporters+`,catalog=~"$catalog"}) == 0)`),
				unreadable(someExporters + "," + someTables),
				none("Old configuration", "Exporters whose last reload failed, so that they run on the configuration before."+runbook("IcebergConfigReloadFailed"),
					"count("+each("iceberg_exporter_config_last_reload_successful")+" == 0)"),
				none("Failures in an hour", "Refreshes of tables that failed in the last hour.",
					`sum(round(increase(iceberg_exporter_refreshes_total{`+someExporters+`,result="failure"}[1h])))`),
				number("Tables", "Tables that these exporters watch.", units.Short,
					"count("+perTable("iceberg_table_up", someExporters+","+someTables)+")"),
				number("Slowest refresh", "The longest of the tables' last refreshes."+runbook("IcebergRefreshSlow"), units.Seconds,
					"max(iceberg_table_refresh_duration_seconds{"+someExporters+","+someTables+"})"),
				cacheUse(),
			}},
			{"Refreshes", []panel{
				graph("Slowest tables", "The ten tables whose last refresh took longest. A refresh must end before the next scrape, or the figures lag."+runbook("IcebergRefreshSlow"), units.Seconds,
					query{tableLegend, largest("iceberg_table_refresh_duration_seconds", someExporters+","+someTables)},
				).ranked().each(seriesToTable),
				graph("Oldest figures", "The ten tables whose figures have been right longest ago. While refreshes fail, old figures stand in.", units.Seconds,
					query{tableLegend, "time() - " + perTable("iceberg_table_last_refresh_success_timestamp_seconds", someExporters+","+someTables) +
						" and on (" + id + ") bottomk(10, " + atEnd("iceberg_table_last_refresh_success_timestamp_seconds", someExporters+","+someTables) + ")"},
				).ranked().each(seriesToTable),
				graph("Refreshes by result", "Refreshes of tables a second.", units.OpsPerSecond,
					query{"{{result}}", rate("result", "iceberg_exporter_refreshes_total")},
				).series("success", solid("green")).series("failure", solid("red")).size(8, 8),
				graph("Refreshes under way", "Refreshes of tables that run at this moment. A number that stays up means a catalog or a store that hangs.", units.Short,
					query{"{{instance}}", each("iceberg_exporter_refreshes_in_flight")},
				).size(8, 8),
				graph("Scrape duration", "How long Prometheus waits for an exporter's answer.", units.Seconds,
					query{"{{instance}}", each("scrape_duration_seconds")},
				).size(8, 8),
			}},
			{"Catalogs and tables", []panel{
				catalogs(),
				unreadableTables(),
			}},
			{"Manifest cache", []panel{
				graph("Cache size", "Memory that cached manifests hold, and what they may hold.", units.BytesIEC,
					query{"{{instance}}", each("iceberg_exporter_manifest_cache_bytes")},
					query{"limit of {{instance}}", each("iceberg_exporter_manifest_cache_limit_bytes")},
				).size(8, 8),
				graph("Hits", "Share of the manifests needed that were in the cache. It is low after a start, and for tables that rewrite their manifests."+runbook("IcebergManifestCacheTooSmall"), units.PercentUnit,
					query{"{{instance}}", rate("instance", "iceberg_exporter_manifest_cache_hits_total") +
						" / (" + rate("instance", "iceberg_exporter_manifest_cache_hits_total") +
						" + " + rate("instance", "iceberg_exporter_manifest_cache_misses_total") + " > 0)"},
				).size(8, 8),
				graph("Evictions", "Manifests a second that are dropped from the cache for want of room. Those of tables that change will be read again."+runbook("IcebergManifestCacheTooSmall"), units.OpsPerSecond,
					query{"{{instance}}", rate("instance", "iceberg_exporter_manifest_cache_evictions_total")},
				).size(8, 8),
				graph("Manifests in the cache", "Manifests that the cache holds.", units.Short,
					query{"{{instance}}", each("iceberg_exporter_manifest_cache_entries")},
				).size(8, 8),
				graph("Manifests read", "Manifests read from storage a second.", units.OpsPerSecond,
					query{"{{instance}}", rate("instance", "iceberg_exporter_manifests_read_total")},
				).size(8, 8),
				graph("Bytes read", "Bytes read from storage a second: metadata files, manifest lists and manifests.", units.BytesPerSecondIEC,
					query{"{{instance}}", rate("instance", "iceberg_exporter_storage_read_bytes_total")},
				).size(8, 8),
			}},
			{"Storage", []panel{
				graph("Storage requests", "Requests to object stores a second: list asks for a page of a listing, read for a file, stat for the size and age of one. Scans of storage list."+storagePage, units.OpsPerSecond,
					query{"{{operation}}", rate("operation", operations)},
				).size(8, 8),
				graph("Price of the requests, a month", "What the requests of the last day cost, projected to a month of 30 days: lists at the price above, the others at $0.0004 per 1,000. Requests that a client repeats by itself count once."+storagePage, units.Dollars,
					query{"list", month("list", "$list_price / 1000")},
					query{"read and stat", month("read|stat", dollarsPerGet)},
				).stacked().size(8, 8),
				number("Requests, a month", "Those prices together.", units.Dollars,
					month("list", "$list_price / 1000")+" + "+month("read|stat", dollarsPerGet)).size(8, 4).precise(2),
				number("Scans, a day", "How much time the scans of a day take together, if each takes as long as it did last. Two run at a time, so more than two days of it do not fit into one."+runbook("IcebergOrphanScanStale"), units.Seconds,
					"sum("+perTable("iceberg_table_orphan_scan_duration_seconds", someExporters+","+someTables)+
						" / on ("+id+") "+perTable("iceberg_table_orphan_scan_interval_seconds", someExporters+","+someTables)+") * 86400").size(8, 4),
				graph("Slowest scans", "The ten tables whose last scan of storage took longest. A scan that takes longer than its interval is given up."+runbook("IcebergOrphanScanFailing"), units.Seconds,
					query{tableLegend, largest("iceberg_table_orphan_scan_duration_seconds", someExporters+","+someTables)},
				).ranked().each(seriesToTable),
				graph("Oldest scans", "The ten tables whose last good scan began longest ago. An alert warns after three intervals."+runbook("IcebergOrphanScanStale"), units.Seconds,
					query{tableLegend, "time() - " + perTable("iceberg_table_last_orphan_scan_timestamp_seconds", someExporters+","+someTables) +
						" and on (" + id + ") bottomk(10, " + atEnd("iceberg_table_last_orphan_scan_timestamp_seconds", someExporters+","+someTables) + ")"},
				).ranked().each(seriesToTable),
			}},
			{"Process", []panel{
				graph("Memory", "Resident memory of the process, and the Go heap in use.", units.BytesIEC,
					query{"resident, {{instance}}", each("process_resident_memory_bytes")},
					query{"heap, {{instance}}", each("go_memstats_heap_inuse_bytes")},
				).size(8, 8),
				graph("CPU", "Processor time used, in cores.", units.Short,
					query{"{{instance}}", rate("instance", "process_cpu_seconds_total")},
				).size(8, 8),
				graph("Goroutines", "A number that only grows is a leak.", units.Short,
					query{"{{instance}}", each("go_goroutines")},
				).size(8, 8),
				builds(),
			}},
		},
	}
}

// none is a count of things of which there should be none.
func none(title, about, expr string) panel {
	p := number(title, about, units.Short, orZero(expr))
	p.colors = anyIs("red")
	return p
}

func cacheUse() panel {
	p := number("Cache in use", "How full the fullest manifest cache is. A full cache is no harm in itself: see whether it evicts what is read again."+runbook("IcebergManifestCacheTooSmall"), units.PercentUnit,
		"max(iceberg_exporter_manifest_cache_bytes{"+someExporters+"} / iceberg_exporter_manifest_cache_limit_bytes{"+someExporters+"})")
	return p.precise(0)
}

func catalogs() panel {
	const picked = someExporters + `,catalog=~"$catalog"`
	return grid("Catalogs", "Each catalog: whether it answered last, how many tables the configuration matches, and how many of them can be read."+runbook("IcebergCatalogDown"),
		"Tables", []column{
			{name: "Catalog", label: "catalog"},
			{name: "Answers", width: 100, mappings: upOrDown()},
			{name: "Tables", width: 100},
			{name: "Readable", width: 100},
		},
		query{"Answers", "max by (catalog) (iceberg_catalog_up{" + picked + "})"},
		query{"Tables", "max by (catalog) (iceberg_catalog_tables{" + picked + "})"},
		query{"Readable", "sum by (catalog) (" + perTable("iceberg_table_up", picked) + ")"},
	).size(12, 8)
}

func unreadableTables() panel {
	columns := append(tableColumns(), column{name: "Figures as of", unit: units.DateTimeFromNow, width: 160}, column{name: "Readable", width: 100, mappings: upOrDown()})
	down := perTable("iceberg_table_up", someExporters+","+someTables) + " == 0"
	return grid("Tables that cannot be read", "Tables whose last refresh failed, and when their figures were last right. The exporter's log says why. Empty when all is well."+runbook("IcebergTableDown"),
		"Figures as of", columns,
		query{"Figures as of", perTable("iceberg_table_last_refresh_success_timestamp_seconds", someExporters+","+someTables) + " * 1000 and on (" + id + ") (" + down + ")"},
		query{"Readable", down},
	).size(12, 8)
}

func builds() panel {
	const labels = "job, instance, version, revision, goversion"
	return grid("Versions", "What runs, and since when its configuration is loaded.",
		"Configured", []column{
			{name: "Job", label: "job"},
			{name: "Instance", label: "instance"},
			{name: "Version", label: "version"},
			{name: "Revision", label: "revision"},
			{name: "Go", label: "goversion"},
			{name: "Configured", unit: units.DateTimeFromNow},
		},
		query{"Configured", "max by (" + labels + ") (iceberg_exporter_build_info{" + someExporters + "}" +
			" * on (job, instance) group_left () max by (job, instance) (iceberg_exporter_config_last_reload_success_timestamp_seconds{" + someExporters + "}) * 1000)"},
	).size(gridWidth, 5)
}
