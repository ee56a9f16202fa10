package refuse

import "github.com/holdfast-dev/holdfast"

// NoKey refuses an id that no key has.
func NoKey(id holdfast.KeyID) error {
	return holdfast.Errorf(holdfast.ErrNotFound, "there is no key %s: `holdfast key ls` lists those that there are", id)
}

// TakenKeyID refuses a new key under an id that is taken.
func TakenKeyID(id holdfast.KeyID) error {
	return holdfast.Errorf(holdfast.ErrConflict, "there is a key %s already, nothing was written: create another one", id)
}

// Replaced refuses to replace a key for a second time.
func Replaced(id, by holdfast.KeyID) error {
	return holdfast.Errorf(holdfast.ErrConflict, "key %s was replaced by key %s already: rotate that one, or create another key", id, by)
}

// KeyInForce refuses to erase a key that still holds.
func KeyInForce(id holdfast.KeyID) error {
	return holdfast.Errorf(holdfast.ErrConflict, "key %s is not revoked: end it first with `holdfast key revoke %s`", id, id)
}
