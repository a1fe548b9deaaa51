// Command scan prints the orphans of the table that a local metadata file
// describes, as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/interop"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: scan -now <milliseconds> <metadata file>") }
	now := flag.Int64("now", time.Now().UnixMilli(), "the moment of the scan, in milliseconds since 1970")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	orphans, err := interop.Orphans(context.Background(), flag.Arg(0), false, time.UnixMilli(*now))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(orphans)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
