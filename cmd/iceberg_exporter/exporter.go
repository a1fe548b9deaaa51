package main

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/version"

	"github.com/iceberg-exporter/iceberg_exporter/collector"
	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
	"github.com/iceberg-exporter/iceberg_exporter/web"
)

// exporter puts the parts together and holds the configuration in use.
type exporter struct {
	configFile string
	logger     log.Logger
	cache      *manifest.Cache
	measurer   *measure.Measurer
	counter    *fileio.Counter
	fleet      *refresh.Fleet
	handler    http.Handler

	// reloading is held while a configuration is loaded.
	reloading sync.Mutex
	inUse     atomic.Pointer[loaded]
}

// loaded is the configuration in use and how the last loading went.
type loaded struct {
	config    *config.Config
	at        time.Time
	succeeded bool
}

func newExporter(configFile string) *exporter {
	return &exporter{configFile: configFile, counter: &fileio.Counter{}}
}

// secrets are the texts to keep out of the log.
func (e *exporter) secrets() []string {
	if e.fleet == nil {
		return nil
	}
	return e.fleet.Secrets()
}

// start makes the exporter ready to serve a configuration.
func (e *exporter) start(c *config.Config, f *flags, logger log.Logger) error {
	e.logger = logger
	e.cache = manifest.NewCache(int64(c.Scrape.ManifestCache))
	e.measurer = measure.NewMeasurer(e.cache)
	e.fleet = refresh.NewFleet(refresh.Options{Measurer: e.measurer, Counter: e.counter, Logger: logger, Now: time.Now})
	e.apply(c)

	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		versioncollector.NewCollector(name),
		collector.NewExporter(e.stats),
	)
	var err error
	e.handler, err = web.NewHandler(web.Options{
		Fleet: e.fleet, Exporter: registry,
		Config: func() *config.Config { return e.inUse.Load().config },
		Reload: e.reload, TelemetryPath: f.telemetryPath, TimeoutOffset: f.timeoutOffset,
		Version: version.Info(), Logger: logger,
	})
	return err
}

func (e *exporter) apply(c *config.Config) {
	e.cache.SetLimit(int64(c.Scrape.ManifestCache))
	e.fleet.Apply(c)
	e.inUse.Store(&loaded{config: c, at: time.Now(), succeeded: true})
}

// reload loads the configuration file again. When it is not right, the
// configuration in use stays.
func (e *exporter) reload() error {
	e.reloading.Lock()
	defer e.reloading.Unlock()
	c, err := config.Load(e.configFile)
	if err != nil {
		before := *e.inUse.Load()
		before.succeeded = false
		e.inUse.Store(&before)
		for _, line := range mistakes(err) {
			level.Error(e.logger).Log("msg", "reloading the configuration", "err", line)
		}
		return err
	}
	e.apply(c)
	level.Info(e.logger).Log("msg", "reloaded the configuration", "file", e.configFile)
	return nil
}

// mistakes are the lines of an error.
func mistakes(err error) []string {
	if all, ok := errors.AsType[*config.Error](err); ok {
		return all.Lines()
	}
	return strings.Split(err.Error(), "\n")
}

func (e *exporter) stats() collector.ExporterStats {
	inUse := e.inUse.Load()
	return collector.ExporterStats{
		Refreshes:        e.fleet.Stats(),
		Cache:            e.cache.Stats(),
		ManifestsRead:    e.measurer.ManifestsRead(),
		StorageReadBytes: e.counter.Bytes(),
		Requests:         e.counter.Requests(),
		ReloadSucceeded:  inUse.succeeded,
		LastReload:       float64(inUse.at.UnixMilli()) / 1000,
	}
}
