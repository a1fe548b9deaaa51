package integration

import (
	"strings"
	"testing"
	"time"
)

// Two stores may have buckets and tables of the same names, as where a staging
// environment is a copy of production.
func TestStorageOfTwoStores(t *testing.T) {
	t.Parallel()
	configuration := "orphan_scan: {enabled: true, interval: 2s}\ncatalogs:\n"
	servers, lakes := map[string]*s3Server{}, map[string]pyCatalog{}
	for _, name := range []string{"production", "staging"} {
		server := startS3(t)
		lake := server.catalog(scratch(t), "lake", "s3")
		lake.write(t, "sales.orders", 1, nil)
		server.plant(t, "lake/sales/orders/data/lost.parquet", 100, longAgo, "orphan")
		configuration += "  - {name: " + name + ", type: sql, uri: '" + lake["uri"] +
			"', properties: " + strings.Replace(server.yaml(s3Secret), "{", "{sql.catalog_name: lake, ", 1) + "}\n"
		servers[name], lakes[name] = server, lake
	}
	x := start(t, configuration, s3Secret)
	for name := range servers {
		x.scannedSince(time.Time{}, name, "orders").equals(t, name, "sales", "orders", servers[name].storage(t, lakes[name], "orders"))
	}
}
