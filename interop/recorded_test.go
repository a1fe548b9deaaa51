package interop_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/interop"
)

// TestRecorded compares the predictions with what the engine did when run.sh
// recorded it.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Cases []struct {
			Case      string          `json:"case"`
			Procedure string          `json:"procedure"`
			Metadata  string          `json:"metadata"`
			NowMs     int64           `json:"now_ms"`
			Engine    json.RawMessage `json:"engine"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	if len(recorded.Cases) < 100 {
		t.Errorf("only %d cases are recorded", len(recorded.Cases))
	}
	tables, err := zip.OpenReader("testdata/tables.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer tables.Close()
	answered := map[string]bool{}
	for _, c := range recorded.Cases {
		t.Run(c.Case+"/"+c.Procedure, func(t *testing.T) {
			load := interop.Load
			if c.Procedure == "expire_snapshots" {
				// Its tables are recorded without manifests, which it does not read.
				load = interop.LoadMetadata
			}
			state, err := load(tables, c.Metadata)
			if err != nil {
				t.Fatal(err)
			}
			got, want := decode(t, predicted(t, state.Answer(time.UnixMilli(c.NowMs)))[c.Procedure]), decode(t, c.Engine)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("predicted %v\nthe engine %v", got, want)
			}
			for _, value := range want {
				if n, ok := value.(json.Number); ok && n != "0" || value == true || reflect.ValueOf(value).Kind() == reflect.Slice {
					answered[c.Procedure] = true
				}
			}
		})
	}
	for _, procedure := range []string{"rewrite_data_files", "rewrite_position_delete_files", "rewrite_manifests", "expire_snapshots"} {
		if !answered[procedure] {
			t.Errorf("in no case did %s do anything", procedure)
		}
	}
}

// predicted are the predictions as the predict command prints them.
func predicted(t *testing.T, answers interop.Answers) map[string]json.RawMessage {
	t.Helper()
	text, err := json.Marshal(answers)
	if err != nil {
		t.Fatal(err)
	}
	var byProcedure map[string]json.RawMessage
	if err := json.Unmarshal(text, &byProcedure); err != nil {
		t.Fatal(err)
	}
	return byProcedure
}

func decode(t *testing.T, text json.RawMessage) (answer map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
