package handover

import (
	"errors"
	"os"
)

// Windows passes no files over sockets; neither run nor serve is there.
const (
	truncated    = 0
	controlSpace = 0
)

func rightsOf([]*os.File) ([]byte, error) { return nil, errors.ErrUnsupported }

func received(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	return nil, errors.ErrUnsupported
}
