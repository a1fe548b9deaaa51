package metadata

import "encoding/json"

// rawSchema is a schema, or a struct type within one. Nothing is asked of
// schemas but which columns they have, so what does not read as one has none.
type rawSchema struct {
	ID     int `json:"schema-id"`
	Fields []struct {
		ID   int             `json:"id"`
		Type json.RawMessage `json:"type"`
	} `json:"fields"`
}

// maxColumnDepth bounds how deep columns are looked for: each level is read once
// more than the one above.
const maxColumnDepth = 32

// columns returns the id of a schema and the ids of its columns, those within
// structs too. Lists and maps cannot be partitioned by, so theirs are left out.
func columns(text json.RawMessage) (id int, ids map[int]bool) {
	ids = map[int]bool{}
	var add func(text json.RawMessage, depth int) int
	add = func(text json.RawMessage, depth int) int {
		var schema rawSchema
		if json.Unmarshal(text, &schema) != nil {
			return schema.ID
		}
		for _, field := range schema.Fields {
			ids[field.ID] = true
			if len(field.Type) > 0 && field.Type[0] == '{' && depth < maxColumnDepth {
				add(field.Type, depth+1)
			}
		}
		return schema.ID
	}
	return add(text, 1), ids
}
