package integration

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// startREST runs Iceberg's own REST catalog and returns its address.
func startREST(t *testing.T) string {
	t.Helper()
	classPath := restFixture(t)
	directory := scratch(t)
	address, port := freeAddress(t)
	server := exec.Command("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classPath, "org.apache.iceberg.rest.RESTCatalogServer")
	server.Env = append(os.Environ(),
		"CATALOG_REST_PORT="+port,
		"CATALOG_URI=jdbc:sqlite:"+filepath.Join(directory, "catalog.db"),
		"CATALOG_WAREHOUSE=file://"+filepath.Join(directory, "warehouse"))
	serve(t, address, server)
	return address
}

// The server takes a second or two to start, and the tests share it.
func TestREST(t *testing.T) {
	pythonWithPyIceberg(t)
	address := startREST(t)
	lake := pyCatalog{"name": "lake", "type": "rest", "uri": "http://" + address}
	lake.write(t, "sales.orders", 3, arguments{"partitioned": true})
	lake.do(t, "tag", "sales.orders", arguments{"tag": "before"})
	lake.do(t, "overwrite", "sales.orders", arguments{"rows": 4})
	lake.write(t, "sales.returns", 1, nil)
	lake.write(t, "sales.empty", 0, nil)
	lake.write(t, "sales.eu.north.orders", 2, nil)
	r := restTest{address, lake}
	t.Run("figures", r.figures)
	t.Run("headers", r.headers)
	t.Run("OAuth2", r.oauth2)
	t.Run("paging", r.paging)
	t.Run("dropped", r.dropped)
	t.Run("hangs", r.hangs)
	t.Run("stops", r.stops)
	t.Run("reloads", r.reloads)
	t.Run("fails", r.fails)
	t.Run("redirects", r.redirects)
}

type restTest struct {
	address string
	lake    pyCatalog
}

// gateway is one in front of the server.
func (r restTest) gateway(t *testing.T) *gateway { return newGateway(t, proxyTo(t, r.address)) }

func (r restTest) check(t *testing.T, m metrics, catalog string) {
	t.Helper()
	m.equals(t, catalog, "sales", "orders", r.lake.figures(t, "sales.orders"))
	m.equals(t, catalog, "sales.eu.north", "orders", r.lake.figures(t, "sales.eu.north.orders"))
}

func (r restTest) figures(t *testing.T) {
	g := r.gateway(t)
	x := start(t, "catalogs: [{name: lake, type: rest, uri: '"+g.URL+"'}]")
	m := x.scrape()
	r.check(t, m, "lake")
	m.equals(t, "lake", "sales", "empty", r.lake.figures(t, "sales.empty"))
	loads := 0
	for _, request := range g.take() {
		if strings.Contains(request.URL.Path, "/tables/") {
			loads++
			if got := request.URL.Query().Get("snapshots"); got != "all" {
				t.Errorf("%s asks for snapshots=%q, want all", request.URL, got)
			}
		}
		if request.Method != http.MethodGet {
			t.Errorf("the exporter sent %s %s", request.Method, request.URL)
		}
	}
	if loads != 4 {
		t.Errorf("4 tables were loaded %d times", loads)
	}

	// Unchanged, a table costs one answer of its catalog and no file.
	again := x.scrape()
	for _, request := range g.take() {
		if !strings.Contains(request.URL.Path, "/tables/") {
			t.Errorf("a scrape of unchanged tables asks for %s", request.URL)
		}
	}
	for _, counter := range []string{"iceberg_exporter_storage_read_bytes_total", "iceberg_exporter_manifests_read_total"} {
		if again[counter] != m[counter] {
			t.Errorf("unchanged tables raised %s by %v", counter, again[counter]-m[counter])
		}
	}
}

func (r restTest) headers(t *testing.T) {
	const token, key, shared secret = "planted-bearer-token", "planted-api-key", "planted-s3-secret"
	g := r.gateway(t)
	g.obey(demand(map[string]string{"Authorization": "Bearer " + string(token), "X-Api-Key": string(key)}))
	keyFile := filepath.Join(scratch(t), "key")
	if err := os.WriteFile(keyFile, []byte(key), 0o644); err != nil {
		t.Fatal(err)
	}
	x := start(t, `
catalogs:
  - name: lake
    type: rest
    uri: `+g.URL+`
    token: `+string(token)+`
    properties:
      header.X-Api-Key_file: `+keyFile+`
      s3.access-key-id: reader
      s3.secret-access-key: `+string(shared)+`
  - name: keyless
    type: rest
    uri: `+g.URL+`
    token: `+string(token)+`
  - name: strange
    type: rest
    uri: `+g.URL+`
    token: planted-other-token
    properties: {header.X-Api-Key: `+string(key)+`}
`, token, key, shared, "planted-other-token")
	m := x.scrape()
	r.check(t, m, "lake")
	for _, name := range []string{"keyless", "strange"} {
		if up := m.catalogUp(name); up != 0 {
			t.Errorf("iceberg_catalog_up of %s is %v", name, up)
		}
	}
	// Every page, and errors too.
	for path, status := range map[string]int{
		"/": 200, "/config": 200, "/targets": 200, "/probe": 400, "/probe?target=lake.sales.orders": 200,
		"/probe?target=strange.sales.orders": 200, "/metrics?collect[]=nothing": 400, "/none": 404,
	} {
		x.get(path, status)
	}
	x.configure("catalogs: [{name: lake, type: rest, uri: '" + g.URL + "', token: {planted-bearer-token: [planted-api-key]}}]")
	if status, _, err := x.ask(http.MethodPost, "/-/reload", nil); err != nil || status != http.StatusInternalServerError {
		t.Errorf("reloading nonsense answers %d, %v", status, err)
	}
	r.check(t, x.scrape(), "lake")
}

// authority is a token endpoint whose tokens hold for a moment.
type authority struct {
	id, secret secret
	lifetime   time.Duration

	mu      sync.Mutex
	issued  int
	expires time.Time
}

func (a *authority) token() string { return fmt.Sprintf("planted-issued-token-%d", a.issued) }

// policy issues tokens, and lets only requests through that carry the last one.
func (a *authority) policy(w http.ResponseWriter, r *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.URL.Path == "/token" {
		if err := r.ParseForm(); err != nil || r.Form.Get("grant_type") != "client_credentials" ||
			r.Form.Get("client_id") != string(a.id) || r.Form.Get("client_secret") != string(a.secret) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error": "invalid_client", "error_description": "no client has the secret %s"}`, r.Form.Get("client_secret"))
			return true
		}
		a.issued++
		a.expires = time.Now().Add(a.lifetime)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token": %q, "token_type": "bearer", "expires_in": %d}`, a.token(), int(a.lifetime.Seconds()))
		return true
	}
	if r.Header.Get("Authorization") != "Bearer "+a.token() || time.Now().After(a.expires) {
		return deny(w, http.StatusUnauthorized, "NotAuthorizedException", "the token is not valid: "+r.Header.Get("Authorization"))
	}
	return false
}

func (r restTest) oauth2(t *testing.T) {
	// The client renews a token 10 seconds before it expires.
	a := &authority{id: "exporter", secret: "planted-client-secret", lifetime: 12 * time.Second}
	g := r.gateway(t)
	g.obey(a.policy)
	x := start(t, `
catalogs:
  - name: lake
    type: rest
    uri: `+g.URL+`
    credential: exporter:`+string(a.secret)+`
    properties: {oauth2-server-uri: `+g.URL+`/token}
  - name: wrong
    type: rest
    uri: `+g.URL+`
    credential: exporter:planted-wrong-secret
    properties: {oauth2-server-uri: `+g.URL+`/token}
`, a.secret, "planted-wrong-secret", "planted-issued-token")
	m := x.scrape()
	r.check(t, m, "lake")
	if up := m.catalogUp("wrong"); up != 0 {
		t.Errorf("iceberg_catalog_up with a wrong secret is %v", up)
	}
	x.get("/config", 200)
	a.mu.Lock()
	a.expires = time.Now().Add(3 * time.Second)
	issued := a.issued
	a.mu.Unlock()
	time.Sleep(3 * time.Second)
	m = x.scrape()
	if up := m.up("lake", "sales", "orders"); up != 1 {
		t.Errorf("iceberg_table_up is %v after the token expired: it was not renewed", up)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.issued == issued {
		t.Error("no new token was asked for")
	}
}

// A server that pages is followed to the last page.
func (r restTest) paging(t *testing.T) {
	g := r.gateway(t)
	pages := 0
	g.obey(func(_ http.ResponseWriter, request *http.Request) bool {
		if strings.HasSuffix(request.URL.Path, "/tables") || strings.HasSuffix(request.URL.Path, "/namespaces") {
			query := request.URL.Query()
			query.Set("pageSize", "1")
			query.Set("pageToken", query.Get("pageToken"))
			request.URL.RawQuery = query.Encode()
			pages++
		}
		return false
	})
	m := start(t, "catalogs: [{name: lake, type: rest, uri: '"+g.URL+"'}]").scrape()
	if n := m[`iceberg_catalog_tables{catalog="lake"}`]; n != 4 {
		t.Errorf("the catalog has %v tables, want 4", n)
	}
	if pages < 6 {
		t.Errorf("the catalog answered %d pages: it does not page", pages)
	}
}

func (r restTest) dropped(t *testing.T) {
	r.lake.write(t, "sales.brief", 1, nil)
	x := start(t, `
catalogs:
  - {name: lake, type: rest, uri: "http://`+r.address+`", discovery_interval: 1h}
  - {name: exact, type: rest, uri: "http://`+r.address+`", tables: [{name: sales.none}, {name: no.such.table}]}
`)
	m := x.scrape()
	if up := m.up("lake", "sales", "brief"); up != 1 {
		t.Fatalf("iceberg_table_up is %v", up)
	}
	if m.up("exact", "sales", "none") != 0 || m.up("exact", "no.such", "table") != 0 || m.catalogUp("exact") != 1 {
		t.Error("a table that does not exist is not told apart from a catalog that does not answer")
	}
	r.lake.do(t, "drop", "sales.brief", nil)
	// That the table is gone is noticed before the catalog is listed again.
	eventually(t, 20*time.Second, func() error {
		if left := x.scrape().table("lake", "sales", "brief"); len(left) > 0 {
			return fmt.Errorf("a dropped table still has %d series", len(left))
		}
		return nil
	})
}

// A catalog that hangs costs its own tables alone, and no goroutines.
func (r restTest) hangs(t *testing.T) {
	g := r.gateway(t)
	beside := sqliteCatalog(scratch(t), "beside")
	beside.write(t, "sales.orders", 1, nil)
	x := start(t, `
scrape: {table_timeout: 4s, max_staleness: 1h}
catalogs:
  - {name: lake, type: rest, uri: `+g.URL+`, discovery_interval: 1s}
  - {name: beside, type: sql, uri: '`+beside["uri"]+`'}
  - {name: never, type: rest, uri: `+g.URL+`/never}
`)
	m := x.scrape()
	r.check(t, m, "lake")
	before := m["go_goroutines"]
	want := beside.figures(t, "sales.orders")
	g.obey(hang)
	defer g.obey(nil)
	const timeout = 2 * time.Second
	for range 6 {
		began := time.Now()
		m, err := x.scrapeWithin(timeout)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took >= timeout {
			t.Errorf("the answer took %s, Prometheus waits %s", took, timeout)
		}
		m.equals(t, "beside", "sales", "orders", want)
		if m.catalogUp("never") != 0 {
			t.Error("a catalog that never answered is up")
		}
		// Six calls hang, with a few goroutines each: scrapes add none.
		if now := m["go_goroutines"]; now > before+40 {
			t.Errorf("goroutines grew from %v to %v", before, now)
		}
	}
	m = x.scrape()
	if up := m.catalogUp("lake"); up != 0 {
		t.Errorf("iceberg_catalog_up of the hanging catalog is %v", up)
	}
	if m.up("lake", "sales", "orders") != 0 || m.table("lake", "sales", "orders")["iceberg_table_data_files"] == 0 {
		t.Error("the last good figures do not stand in with iceberg_table_up 0")
	}
	if n := strings.Count(x.log.String(), `table=sales.orders msg="measuring the table failed"`); n != 1 {
		t.Errorf("the log tells %d times that the table fails", n)
	}
	g.obey(nil)
	eventually(t, 20*time.Second, func() error {
		m := x.scrape()
		if up := m.up("lake", "sales", "orders"); up != 1 {
			return fmt.Errorf("iceberg_table_up is %v after the catalog is back", up)
		}
		if now := m["go_goroutines"]; now > before+8 {
			return fmt.Errorf("there were %v goroutines, now %v", before, now)
		}
		return nil
	})
}

// The exporter ends while a catalog hangs, which start makes sure of.
func (r restTest) stops(t *testing.T) {
	g := r.gateway(t)
	x := start(t, "catalogs: [{name: lake, type: rest, uri: '"+g.URL+"'}]")
	r.check(t, x.scrape(), "lake")
	g.obey(hang)
	if _, err := x.scrapeWithin(time.Second); err != nil {
		t.Error(err)
	}
}

// Catalogs that a reload replaces leave nothing behind, even if they hang.
func (r restTest) reloads(t *testing.T) {
	g := r.gateway(t)
	beside := sqliteCatalog(scratch(t), "beside")
	beside.write(t, "sales.orders", 1, nil)
	configuration := func(concurrency int) string {
		return fmt.Sprintf(`
scrape: {concurrency: %d}
catalogs:
  - {name: lake, type: rest, uri: '%s'}
  - {name: beside, type: sql, uri: '%s'}
`, concurrency, g.URL, beside["uri"])
	}
	x := start(t, configuration(1))
	before := x.scrape()
	for i := range 8 {
		g.obey(nil)
		if i%2 == 1 {
			g.obey(hang)
			if _, err := x.scrapeWithin(time.Second); err != nil {
				t.Fatal(err)
			}
		}
		x.configure(configuration(i + 2))
		if status, body, err := x.ask(http.MethodPost, "/-/reload", nil); err != nil || status != http.StatusOK {
			t.Fatal(status, body, err)
		}
		g.obey(nil)
		m := x.scrape()
		r.check(t, m, "lake")
		m.equals(t, "beside", "sales", "orders", beside.figures(t, "sales.orders"))
	}
	eventually(t, 20*time.Second, func() error {
		m := x.scrape()
		for _, held := range []string{"go_goroutines", "process_open_fds"} {
			if m[held] > before[held]+5 {
				return fmt.Errorf("%s was %v, is %v", held, before[held], m[held])
			}
		}
		return nil
	})
	if read := x.scrape()["iceberg_exporter_manifests_read_total"]; read != before["iceberg_exporter_manifests_read_total"] {
		t.Error("reloading lost what was read from manifests")
	}
}

func (r restTest) fails(t *testing.T) {
	g := r.gateway(t)
	x := start(t, "catalogs: [{name: lake, type: rest, uri: '"+g.URL+"'}]")
	r.check(t, x.scrape(), "lake")
	for name, answer := range map[string]policy{
		"500 with an error": func(w http.ResponseWriter, _ *http.Request) bool {
			return deny(w, http.StatusInternalServerError, "InternalServerError", "out of order")
		},
		"502 of a proxy": func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "<html>Bad Gateway</html>", http.StatusBadGateway)
			return true
		},
		"200 with nonsense": func(w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, "<html>Please log in</html>")
			return true
		},
		"200 with nothing": func(http.ResponseWriter, *http.Request) bool { return true },
		"a broken connection": func(http.ResponseWriter, *http.Request) bool {
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g.obey(only("/tables/orders", answer))
			m := x.scrape()
			if up := m.up("lake", "sales", "orders"); up != 0 {
				t.Errorf("iceberg_table_up is %v", up)
			}
			if up := m.up("lake", "sales", "returns"); up != 1 {
				t.Errorf("iceberg_table_up of another table is %v", up)
			}
			g.obey(nil)
			r.check(t, x.scrape(), "lake")
		})
	}
}

// A redirection does not carry credentials to another host.
func (r restTest) redirects(t *testing.T) {
	const token, key secret = "planted-bearer-token", "planted-api-key"
	elsewhere := r.gateway(t)
	g := r.gateway(t)
	g.obey(func(w http.ResponseWriter, request *http.Request) bool {
		http.Redirect(w, request, elsewhere.URL+request.URL.RequestURI(), http.StatusTemporaryRedirect)
		return true
	})
	x := start(t, `
catalogs:
  - name: lake
    type: rest
    uri: `+g.URL+`
    token: `+string(token)+`
    properties: {header.X-Api-Key: `+string(key)+`}
  - name: oauth2
    type: rest
    uri: `+g.URL+`
    credential: exporter:planted-client-secret
`, token, key, "planted-client-secret")
	m := x.scrape()
	for _, name := range []string{"lake", "oauth2"} {
		if up := m.catalogUp(name); up != 0 {
			t.Errorf("iceberg_catalog_up of %s is %v", name, up)
		}
	}
	if sent := elsewhere.take(); len(sent) > 0 {
		t.Errorf("another host was sent %v", paths(sent))
	}
	if !strings.Contains(x.log.String(), strings.TrimPrefix(elsewhere.URL, "http://")) {
		t.Error("the log does not tell where the catalog redirects to")
	}
	// On the same host it is followed.
	g.obey(func(w http.ResponseWriter, request *http.Request) bool {
		if moved, ok := strings.CutPrefix(request.URL.Path, "/old"); ok {
			http.Redirect(w, request, moved+"?"+request.URL.RawQuery, http.StatusTemporaryRedirect)
			return true
		}
		return demand(map[string]string{"Authorization": "Bearer " + string(token)})(w, request)
	})
	g.take()
	y := start(t, "catalogs: [{name: lake, type: rest, uri: '"+g.URL+"/old', token: "+string(token)+"}]", token)
	r.check(t, y.scrape(), "lake")
	if !slices.Contains(paths(g.take()), "GET /old/v1/config") {
		t.Error("nothing was redirected")
	}
}
