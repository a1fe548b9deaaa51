// Command iceberg_exporter publishes the layout of Apache Iceberg tables as
// Prometheus metrics.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log/level"
	"github.com/prometheus/common/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/logging"
)

const (
	name           = "iceberg_exporter"
	defaultAddress = ":10072"
	// shutdownTimeout is how long answers under way have at the end.
	shutdownTimeout = 10 * time.Second
	// readHeaderTimeout keeps slow clients from holding connections.
	readHeaderTimeout = 10 * time.Second
)

// flags are the command line's.
type flags struct {
	configFile    string
	configCheck   bool
	telemetryPath string
	timeoutOffset time.Duration
	logLevel      string
	logFormat     string
	web           *toolkit.FlagConfig
	// scan, tables and output are the check command's.
	scan   bool
	tables []string
	output string
}

// The commands of the program.
const (
	serveCommand = "serve"
	checkCommand = "check"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	f, app := defineFlags(stdout, stderr)
	command, err := app.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v, try --help\n", name, err)
		return 2
	}
	c, err := config.Load(f.configFile)
	if f.configCheck {
		return checkConfig(f.configFile, err, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if command == checkCommand {
		c.OrphanScan.StateFile = "" // It belongs to the exporter that serves.
	}
	e := newExporter(f.configFile)
	logger, err := logging.New(stderr, f.logLevel, f.logFormat, e.secrets)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	// Libraries log through the standard loggers.
	slogger := logging.Slog(logger)
	slog.SetDefault(slogger)
	stdlog.SetFlags(0)
	if err := e.start(c, f, logger); err != nil {
		level.Error(logger).Log("msg", "starting", "err", err)
		return 1
	}
	if command == checkCommand {
		return e.check(f, stdout, stderr)
	}
	level.Info(logger).Log("msg", "starting", "version", version.Info(), "build", version.BuildContext())
	return e.serve(f, slogger)
}

func defineFlags(stdout, stderr io.Writer) (*flags, *kingpin.Application) {
	f := &flags{}
	app := kingpin.New(name, "Prometheus exporter for the layout of Apache Iceberg tables.")
	app.UsageWriter(stdout).ErrorWriter(stderr)
	app.HelpFlag.Short('h')
	if info, ok := debug.ReadBuildInfo(); ok && version.Version == "" {
		// Built by go install, without the flags of a release.
		version.Version = info.Main.Version
		for _, setting := range info.Settings {
			if setting.Key == "vcs.time" {
				version.BuildDate = setting.Value
			}
		}
	}
	app.Version(version.Print(name))
	app.Flag("config.file", "Path of the configuration file.").Default("iceberg_exporter.yml").StringVar(&f.configFile)
	app.Flag("config.check", "Check the configuration file, print every mistake, and exit with 0 or 1.").BoolVar(&f.configCheck)
	app.Flag("web.telemetry-path", "Path under which the metrics are.").Default("/metrics").StringVar(&f.telemetryPath)
	app.Flag("scrape.timeout-offset", "How long before Prometheus' timeout a scrape is answered with what is ready.").Default("500ms").DurationVar(&f.timeoutOffset)
	app.Flag("log.level", "Least severe messages that are logged.").Default("info").EnumVar(&f.logLevel, logging.Levels()...)
	app.Flag("log.format", "Format of log messages.").Default("logfmt").EnumVar(&f.logFormat, logging.Formats()...)
	f.web = kingpinflag.AddFlags(app, defaultAddress)
	app.Command(serveCommand, "Serve metrics; what is done without a command.").Default()
	check := app.Command(checkCommand, "Print the index card of tables, with the commands to mend what is over its limit; exit with 1 when a limit is crossed.")
	check.Flag("output", "Form of the cards: text, or json for scripts.").Default("text").EnumVar(&f.output, "text", "json")
	check.Flag("scan", "List the tables' storage too, to find orphan files; this costs requests.").BoolVar(&f.scan)
	check.Arg("table", "Tables as catalog.namespace.table; all that are configured by default.").StringsVar(&f.tables)
	return f, app
}

// checkConfig tells what --config.check found.
func checkConfig(file string, err error, stdout, stderr io.Writer) int {
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintf(stdout, "%s: the configuration is right\n", file)
	return 0
}

// serve answers requests until a signal ends the program.
func (e *exporter) serve(f *flags, slogger *slog.Logger) int {
	server := &http.Server{Handler: e.handler, ReadHeaderTimeout: readHeaderTimeout}
	stopped := make(chan error, 1)
	go func() { stopped <- toolkit.ListenAndServe(server, f.web, slogger) }()
	e.fleet.StartScans()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	status := 0
	for running := true; running; {
		select {
		case s := <-signals:
			if s == syscall.SIGHUP {
				_ = e.reload() // It is logged.
				continue
			}
			level.Info(e.logger).Log("msg", "stopping", "signal", s)
			running = false
		case err := <-stopped:
			if !errors.Is(err, http.ErrServerClosed) {
				level.Error(e.logger).Log("msg", "serving", "err", err)
				status = 1
			}
			running = false
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := errors.Join(e.fleet.Close(ctx), server.Shutdown(ctx)); err != nil {
		level.Warn(e.logger).Log("msg", "stopping", "err", err)
	}
	return status
}
