package jsonscan

import "strconv"

// Number reads a number that counts something; 0 for anything else, and for one
// below zero.
func Number(lit []byte) int64 {
	if n := Amount(lit); n != nil {
		return *n
	}
	return 0
}

// Amount reads a number that counts something, and 0 for one below zero; nil for
// anything else.
func Amount(lit []byte) *int64 {
	if len(lit) == 0 || lit[0] != '-' && (lit[0] < '0' || lit[0] > '9') {
		return nil // most often it is not there, and to say why costs memory
	}
	n, err := strconv.ParseInt(string(lit), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(string(lit), 64)
		if err != nil || !(f <= 1<<53) {
			return nil
		}
		n = int64(f)
	}
	return new(max(n, 0))
}
