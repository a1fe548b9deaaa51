package integration

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A REST catalog hands out what its tables are read with: here S3 credentials,
// of which the configuration has none.
func TestVendedCredentials(t *testing.T) {
	server := startS3(t)
	lake := server.catalog(scratch(t), "lake", "s3")
	lake.write(t, "sales.orders", 2, nil)
	lake.write(t, "sales.denied", 2, nil)
	const wrong secret = "planted-wrong-vended-secret"
	vended := map[string]map[string]any{
		"orders": {
			// The longest prefix of the place counts, and all of it over the table's config.
			"config": map[string]string{"s3.endpoint": server.URL, "s3.region": s3Region, "s3.access-key-id": "nobody", "s3.secret-access-key": string(wrong)},
			"storage-credentials": []any{
				map[string]any{"prefix": "s3://lake/lake/sales/orders", "config": server.properties()},
				map[string]any{"prefix": "s3", "config": map[string]string{"s3.access-key-id": "nobody", "s3.secret-access-key": string(wrong)}},
			},
		},
		"denied": {"config": map[string]string{"s3.endpoint": server.URL, "s3.region": s3Region, "s3.access-key-id": s3Key, "s3.secret-access-key": string(wrong)}},
	}
	answer := func(w http.ResponseWriter, value any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(value); err != nil {
			t.Error(err)
		}
	}
	catalog := newGateway(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, isTable := strings.CutPrefix(r.URL.Path, "/v1/namespaces/sales/tables/")
		switch {
		case r.URL.Path == "/v1/config":
			answer(w, map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}})
		case isTable && vended[name] != nil:
			loaded := vended[name]
			loaded["metadata-location"], _ = lake.metadata(t, "sales."+name)
			loaded["metadata"] = lake.document(t, "sales."+name)
			answer(w, loaded)
		default:
			deny(w, http.StatusNotFound, "NoSuchTableException", "there is no "+r.URL.Path)
		}
	}))
	x := start(t, `
catalogs:
  - name: lake
    type: rest
    uri: `+catalog.URL+`
    tables: [{name: sales.orders}, {name: sales.denied}, {name: sales.none}]
`, s3Secret, wrong)
	m := x.scrape()
	m.equals(t, "lake", "sales", "orders", lake.figures(t, "sales.orders"))
	for _, name := range []string{"denied", "none"} {
		if up := m.up("lake", "sales", name); up != 0 {
			t.Errorf("iceberg_table_up of %s is %v", name, up)
		}
	}
	if up := m.catalogUp("lake"); up != 1 {
		t.Errorf("iceberg_catalog_up is %v: only storage denied something", up)
	}
}
