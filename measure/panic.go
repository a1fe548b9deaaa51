package measure

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic that was turned into an error: a bug that some table
// brings to light costs that table alone.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string {
	return fmt.Sprintf("a bug in the exporter: panic: %v", e.Value)
}

// recoverTo turns a panic of the calling function into its error.
func recoverTo(err *error) {
	if value := recover(); value != nil {
		*err = &PanicError{Value: value, Stack: debug.Stack()}
	}
}

// Guard calls f and returns its error, or its panic as one.
func Guard(f func() error) (err error) {
	defer recoverTo(&err)
	return f()
}
