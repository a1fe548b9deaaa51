package manifest

import (
	"errors"
	"io"
)

// Inflate inflates the blocks of a manifest and does nothing with them: what
// reading it costs at the least.
func Inflate(r io.Reader, file File) (int64, error) {
	c, err := openContainer(r, entryFields(file.Content))
	if err != nil {
		return 0, err
	}
	defer c.close()
	var total int64
	for {
		if err := c.nextBlock(); errors.Is(err, io.EOF) {
			return total, nil
		} else if err != nil {
			return 0, err
		}
		total += int64(len(c.cursor.buf))
	}
}
