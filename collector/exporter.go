package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// ExporterStats are the exporter's figures about itself.
type ExporterStats struct {
	Refreshes        refresh.Stats
	Cache            manifest.CacheStats
	ManifestsRead    uint64
	StorageReadBytes uint64
	Requests         fileio.Requests
	// ReloadSucceeded is whether the last loading of the configuration did.
	ReloadSucceeded bool
	// LastReload is when the configuration in use was loaded, in Unix seconds.
	LastReload float64
}

// Exporter collects the exporter's metrics about itself.
type Exporter struct {
	*descriptions
	stats func() ExporterStats

	reloadSucceeded, lastReload                                   *Metric
	cacheBytes, cacheLimit, cacheEntries, hits, misses, evictions *Metric
	manifestsRead, storageRead, requests, refreshes, inFlight     *Metric
}

// NewExporter returns a collector of the figures that stats returns.
func NewExporter(stats func() ExporterStats) *Exporter {
	d := &descriptions{scope: PerExporter, group: "The exporter itself"}
	return &Exporter{
		descriptions: d, stats: stats,
		reloadSucceeded: d.gauge("iceberg_exporter_config_last_reload_successful", "Whether the configuration file was right when it was last loaded (1) or not (0)."),
		lastReload:      d.gauge("iceberg_exporter_config_last_reload_success_timestamp_seconds", "When the configuration in use was loaded."),
		cacheBytes:      d.gauge("iceberg_exporter_manifest_cache_bytes", "Memory that the cached manifest records hold."),
		cacheLimit:      d.gauge("iceberg_exporter_manifest_cache_limit_bytes", "The configured scrape.manifest_cache: what the cache may hold."),
		cacheEntries:    d.gauge("iceberg_exporter_manifest_cache_entries", "Manifest records in the cache."),
		hits:            d.counter("iceberg_exporter_manifest_cache_hits_total", "Manifest records found in the cache."),
		misses:          d.counter("iceberg_exporter_manifest_cache_misses_total", "Manifest records that had to be read."),
		evictions:       d.counter("iceberg_exporter_manifest_cache_evictions_total", "Manifest records dropped for want of room. Tables that change after that read the manifests again."),
		manifestsRead:   d.counter("iceberg_exporter_manifests_read_total", "Manifests read from storage."),
		storageRead:     d.counter("iceberg_exporter_storage_read_bytes_total", "Bytes read from storage: metadata files, manifest lists and manifests."),
		requests:        d.counter("iceberg_exporter_storage_requests_total", "Requests to object stores: list (a page of a listing), read (a file) or stat (a file's size and age). Requests that a client repeats by itself count once.", "operation"),
		refreshes:       d.counter("iceberg_exporter_refreshes_total", "Refreshes of tables: success or failure.", "result"),
		inFlight:        d.gauge("iceberg_exporter_refreshes_in_flight", "Refreshes of tables under way."),
	}
}

// Metrics describes all metrics.
func (x *Exporter) Metrics() []*Metric { return x.metrics }

// Describe implements prometheus.Collector.
func (x *Exporter) Describe(ch chan<- *prometheus.Desc) { x.describe(ch) }

// Collect implements prometheus.Collector.
func (x *Exporter) Collect(ch chan<- prometheus.Metric) {
	e, s := emitter{ch: ch}, x.stats()
	e.flag(x.reloadSucceeded, s.ReloadSucceeded)
	e.send(x.lastReload, s.LastReload)
	e.count(x.cacheBytes, s.Cache.Bytes)
	e.count(x.cacheLimit, s.Cache.Limit)
	e.count(x.cacheEntries, s.Cache.Entries)
	e.send(x.hits, float64(s.Cache.Hits))
	e.send(x.misses, float64(s.Cache.Misses))
	e.send(x.evictions, float64(s.Cache.Evictions))
	e.send(x.manifestsRead, float64(s.ManifestsRead))
	e.send(x.storageRead, float64(s.StorageReadBytes))
	e.send(x.requests, float64(s.Requests.Lists), "list")
	e.send(x.requests, float64(s.Requests.Reads), "read")
	e.send(x.requests, float64(s.Requests.Stats), "stat")
	e.send(x.refreshes, float64(s.Refreshes.Succeeded), "success")
	e.send(x.refreshes, float64(s.Refreshes.Failed), "failure")
	e.count(x.inFlight, s.Refreshes.InFlight)
}
