// Command scan prints the orphans of the table that a local metadata file
// describes, or the bytes that expire_snapshots would free, as JSON.
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
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: scan [-expirable] [-now <milliseconds>] <metadata file>") }
	now := flag.Int64("now", time.Now().UnixMilli(), "the moment of the scan, in milliseconds since 1970")
	expirable := flag.Bool("expirable", false, "print what expire_snapshots would free")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	answer, err := ask(flag.Arg(0), time.UnixMilli(*now), *expirable)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(metadataFile string, now time.Time, expirable bool) (any, error) {
	if expirable {
		return interop.Expirable(context.Background(), metadataFile, now)
	}
	return interop.Orphans(context.Background(), metadataFile, false, now)
}
