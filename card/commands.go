package card

import (
	"fmt"
	"strings"
)

// commands are the Spark SQL that would do what the predictions say, in the
// safe order: compact, expire, rewrite manifests, and sweep when files were let go.
func (w *writer) commands() []string {
	p := w.Measurement.Prediction
	var commands []string
	add := func(needed bool, procedure, options string) {
		if needed {
			commands = append(commands, fmt.Sprintf("CALL %s.system.%s(table => %s%s);", identifier(w.Key.Catalog), procedure, w.tableLiteral(), options))
		}
	}
	add(p.DataFiles.Files > 0, "rewrite_data_files", "")
	add(p.PositionDeleteFiles.Files > 0, "rewrite_position_delete_files", "")
	add(len(w.expiry.Snapshots) > 0, "expire_snapshots", "")
	add(p.Manifests.Data.Rewritable+p.Manifests.Deletes.Rewritable > 0, "rewrite_manifests", "")
	// Look first; then again without dry_run.
	orphans, _ := w.Scan.Orphans()
	add(len(commands) > 0 || orphans.Files > 0, "remove_orphan_files", ", dry_run => true")
	return commands
}

// tableLiteral is the table's name as a string of SQL.
func (w *writer) tableLiteral() string {
	var levels []string
	for _, level := range append(strings.Split(w.Key.Namespace, "."), w.Key.Name) {
		levels = append(levels, identifier(level))
	}
	return "'" + strings.ReplaceAll(strings.ReplaceAll(strings.Join(levels, "."), `\`, `\\`), "'", `\'`) + "'"
}

// identifier quotes a name for Spark SQL where it must be.
func identifier(name string) string {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return "`" + strings.ReplaceAll(name, "`", "``") + "`"
		}
	}
	return name
}
