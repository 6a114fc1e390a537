package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/event"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// TopicInfo describes one incarnation of a topic.
type TopicInfo struct {
	Name       string
	ID         event.TopicID
	Partitions int32
	Replicas   int               // of the partition that has fewest
	Configs    map[string]string // as in force, defaults included
}

// topicID is the id of the topic that has the name now; ErrTopicMissing if none.
func (c *Client) topicID(ctx context.Context, name string) (event.TopicID, error) {
	topics, err := c.adm.ListTopics(ctx, name)
	if err != nil {
		return event.TopicID{}, fmt.Errorf("kafka: describe topic %s: %w", name, err)
	}
	t, ok := topics[name]
	if !ok || errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
		return event.TopicID{}, fmt.Errorf("%w: %s", ErrTopicMissing, name)
	}
	return event.TopicID(t.ID), t.Err
}

// Topic describes the topic; ErrTopicMissing if there is none.
func (c *Client) Topic(ctx context.Context, name string) (TopicInfo, error) {
	topics, err := c.adm.ListTopics(ctx, name)
	if err != nil {
		return TopicInfo{}, fmt.Errorf("kafka: describe topic %s: %w", name, err)
	}
	t, ok := topics[name]
	if !ok || errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
		return TopicInfo{}, fmt.Errorf("%w: %s", ErrTopicMissing, name)
	}
	if t.Err != nil {
		return TopicInfo{}, fmt.Errorf("kafka: describe topic %s: %w", name, t.Err)
	}
	info := TopicInfo{Name: name, ID: event.TopicID(t.ID), Partitions: int32(len(t.Partitions)), Configs: map[string]string{}}
	if t.ID == (kadm.TopicID{}) {
		return TopicInfo{}, fmt.Errorf("kafka: topic %s has no id (Togo needs Kafka 3.1 or newer)", name)
	}
	for _, p := range t.Partitions {
		if info.Replicas == 0 || len(p.Replicas) < info.Replicas {
			info.Replicas = len(p.Replicas)
		}
	}
	configs, err := c.adm.DescribeTopicConfigs(ctx, name)
	if err != nil {
		return TopicInfo{}, fmt.Errorf("kafka: read the settings of topic %s: %w", name, err)
	}
	for _, rc := range configs {
		if rc.Err != nil {
			return TopicInfo{}, fmt.Errorf("kafka: read the settings of topic %s: %w", name, rc.Err)
		}
		for _, kv := range rc.Configs {
			info.Configs[kv.Key] = kv.MaybeValue()
		}
	}
	return info, nil
}
