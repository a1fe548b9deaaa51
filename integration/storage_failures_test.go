package integration

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// forbid answers as S3 does where a permission is missing.
func forbid(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprintf(w, "<Error><Code>AccessDenied</Code><Message>not with %s</Message></Error>", r.Header.Get("Authorization"))
	return true
}

// fail answers as S3 does in trouble.
func fail(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprint(w, "<Error><Code>InternalError</Code></Error>")
	return true
}

// half cuts a text off.
func half(body []byte) []byte { return body[:len(body)/2] }

// breakOff ends a connection in the middle of an answer.
func breakOff(behind http.Handler) policy {
	pass := answerWith(behind, half)
	return func(w http.ResponseWriter, r *http.Request) bool {
		pass(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// twoAttempts is how often the exporter sends a request that fails.
func twoAttempts(command *exec.Cmd) { command.Env = append(os.Environ(), "AWS_MAX_ATTEMPTS=2") }

// A listing that fails, at once or after the first page, takes no figures away
// and brings no wrong ones; nor does it disturb the other figures of a table.
func TestStorageFailures(t *testing.T) {
	t.Parallel()
	server := startS3(t)
	lake := server.catalog(scratch(t), "lake", "s3")
	failures := map[string]struct {
		policy policy
		hint   string
	}{
		"denied":    {forbid, "let them read and list the table's storage"},
		"forbidden": {laterPage(forbid), "let them read and list the table's storage"},
		"broken":    {laterPage(fail), "see whether the catalog and its storage answer"},
		"cut":       {laterPage(answerWith(server.proxy, half)), "see whether the catalog and its storage answer"},
		"empty":     {laterPage(answerWith(server.proxy, func([]byte) []byte { return nil })), "see whether the catalog and its storage answer"},
		"lost":      {laterPage(breakOff(server.proxy)), "see whether the catalog and its storage answer"},
	}
	tables := slices.Sorted(maps.Keys(failures))
	var policies []policy
	for _, table := range tables {
		lake.write(t, "sales."+table, 1, nil)
		server.plantMany(t, table, 1200, flat)
		policies = append(policies, listing(table, failures[table].policy))
	}
	failing := anyOf(policies...)
	server.obey(failing)
	x := startAs(t, server.scans(lake, 3*time.Second), twoAttempts, s3Secret)

	failed := func(m metrics) error {
		for _, table := range tables {
			if success, ok := m.table("lake", "sales", table)["iceberg_table_orphan_scan_success"]; !ok || success != 0 {
				return fmt.Errorf("iceberg_table_orphan_scan_success of %s is %v, or not there", table, success)
			}
		}
		return nil
	}
	m := x.until(failed)
	for _, table := range tables {
		of := m.table("lake", "sales", table)
		if of["iceberg_table_up"] != 1 || of["iceberg_table_data_files"] != 1 {
			t.Errorf("%s: a scan that fails disturbs the figures of the table itself", table)
		}
		if _, ok := of["iceberg_table_last_orphan_scan_timestamp_seconds"]; ok {
			t.Errorf("%s: a scan that failed counts as a good one", table)
		}
		for s := range server.storage(t, lake, table) {
			if _, ok := of[s]; ok && s != "iceberg_table_orphan_scan_success" {
				t.Errorf("%s: there is %s before a scan has succeeded", table, s)
			}
		}
	}
	server.obey(nil)
	m = x.scanned("lake", tables...)
	good := map[string]metrics{}
	for _, table := range tables {
		good[table] = server.storage(t, lake, table)
		m.equals(t, "lake", "sales", table, good[table])
	}

	// From now on each good scan would find one more.
	server.obey(failing)
	began := time.Now()
	for _, table := range tables {
		server.plant(t, "lake/sales/"+table+"/data/one-more.parquet", 1000, longAgo, "orphan")
	}
	m = x.until(failed)
	for _, table := range tables {
		good[table]["iceberg_table_orphan_scan_success"] = 0
		m.equals(t, "lake", "sales", table, good[table])
		if last := m.table("lake", "sales", table)["iceberg_table_last_orphan_scan_timestamp_seconds"]; last > float64(began.UnixMilli())/1000 {
			t.Errorf("%s: a scan that failed counts as a good one", table)
		}
	}
	eventually(t, 40*time.Second, func() error {
		if !strings.Contains(x.log.String(), "scanning the table's storage still fails") {
			return errors.New("no scan failed twice in a row")
		}
		return nil
	})
	server.obey(nil)
	m = x.scanned("lake", tables...)
	for _, table := range tables {
		m.equals(t, "lake", "sales", table, server.storage(t, lake, table))
		told, again := x.told("lake", table, "scanning the table's storage failed"), x.told("lake", table, "scanning the table's storage works again")
		if len(told) != 2 || len(again) != 2 {
			t.Errorf("%s failed twice and came back twice, the log tells %d and %d times", table, len(told), len(again))
		}
		for _, line := range told {
			if !strings.Contains(line, failures[table].hint) || !strings.Contains(line, "s3://lake/lake/sales/"+table) {
				t.Errorf("the log does not help: %s", line)
			}
		}
	}
}
