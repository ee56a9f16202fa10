package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/store"
)

// noConversations is what a person reads where there is nothing to show.
const noConversations = "There are no conversations yet. Ask with `holdfast query`, or import what agents left with `holdfast conversation import`."

// allArchived is what a person reads where nothing is left in the list.
const allArchived = "All conversations are archived. See `holdfast conversation ls --all`, or put the newest back with `holdfast conversation archive last --undo`."

func conversationIDs(list []store.Conversation) []holdfast.ConversationID {
	ids := make([]holdfast.ConversationID, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	return ids
}

// findConversation finds the conversation that name stands for: an id, a
// beginning of one, or "last". Archived ones are found by their ids.
func (a *app) findConversation(ctx context.Context, s *conversations.Service, name string) (store.Conversation, error) {
	list, err := s.List(ctx, true)
	if err != nil {
		return store.Conversation{}, err
	}
	if len(list) == 0 {
		return store.Conversation{}, holdfast.Errorf(holdfast.ErrNotFound, "%s", a.none("conversations", noConversations))
	}
	var hits []store.Conversation
	for _, c := range list {
		if string(c.ID) == name || name == "last" && !c.Archived {
			return c, nil // the list begins with the one used last
		}
		if name != "" && strings.HasPrefix(string(c.ID), name) {
			hits = append(hits, c)
		}
	}
	if name == "last" {
		return store.Conversation{}, holdfast.Errorf(holdfast.ErrNotFound, "%s", allArchived)
	}
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		slices.SortStableFunc(list, func(x, y store.Conversation) int {
			return cmp.Compare(common(string(y.ID), name), common(string(x.ID), name))
		})
		return store.Conversation{}, holdfast.Errorf(holdfast.ErrNotFound,
			"no conversation is named %s. The nearest:\n%sSee holdfast conversation ls", line(name), a.conversationNames(list[:min(3, len(list))], list))
	}
	return store.Conversation{}, holdfast.Errorf(holdfast.ErrUsage,
		"%s can mean %d conversations. Write more of the id:\n%s", line(name), len(hits), candidates(a.conversationNames(hits, list)))
}

// findArchived finds an archived conversation. The last one is the last used of them.
func (a *app) findArchived(ctx context.Context, s *conversations.Service, name string) (store.Conversation, error) {
	if name == "last" {
		list, err := s.List(ctx, true)
		if err != nil {
			return store.Conversation{}, err
		}
		if i := slices.IndexFunc(list, func(c store.Conversation) bool { return c.Archived }); i >= 0 {
			return list[i], nil
		}
		return store.Conversation{}, holdfast.Errorf(holdfast.ErrNotFound, "no conversation is archived")
	}
	c, err := a.findConversation(ctx, s, name)
	if err == nil && !c.Archived {
		err = holdfast.Errorf(holdfast.ErrUsage, "conversation %s is not archived. See holdfast conversation ls --all", c.ID)
	}
	return c, err
}

// conversationNames shows some of all conversations in an error, one in a line.
func (a *app) conversationNames(list, every []store.Conversation) string {
	short := shortener(conversationIDs(every))
	var b strings.Builder
	for _, c := range list {
		b.WriteString("  " + short(c.ID) + "  " + cmp.Or(line(c.Title), "untitled") + ", " + ago(a.now(), c.UsedAt) + "\n")
	}
	return b.String()
}

// completeConversation completes the ids of conversations.
func (a *app) completeConversation(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := []cobra.Completion{}
	// A shell is no place for errors.
	_ = a.withConversations(false, func(s *conversations.Service) error {
		all, err := s.List(cmd.Context(), false)
		if err != nil {
			return err
		}
		if len(all) > 0 && strings.HasPrefix("last", typed) {
			list = append(list, cobra.CompletionWithDesc("last", "the conversation used last"))
		}
		for _, c := range all {
			if strings.HasPrefix(string(c.ID), typed) {
				list = append(list, cobra.CompletionWithDesc(line(string(c.ID)), cmp.Or(line(c.Title), "untitled")+", "+ago(a.now(), c.UsedAt)))
			}
		}
		return nil
	})
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// holder says who takes a lease, to the person who has to wait for it.
func (a *app) holder(cmd *cobra.Command) string {
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	return fmt.Sprintf("%s, process %d on %s", cmd.CommandPath(), os.Getpid(), host)
}
